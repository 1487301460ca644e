"""stub."""


def write(folder):
    pass
