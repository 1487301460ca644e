"""Scripts in fresh processes, forked from one that has imported TensorFlow and run nothing.

Importing it takes seconds, which dozens of scripts would spend. Devices and workers can still be set up after the fork.
"""

import multiprocessing
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile

import thrift

TIMEOUT = 900  # of a script that hangs, not of a slow machine

_FORK = multiprocessing.get_context("forkserver")
_FORK.set_forkserver_preload(["tensorflow", "keras"])


class Started:
    """A script under way, as `python path arguments` would run it, with more variables in its environment."""

    def __init__(self, path, *arguments, cwd=".", **more):
        self.command = [str(path), *map(str, arguments)]
        self.folder = tempfile.TemporaryDirectory()
        self.files = [pathlib.Path(self.folder.name, name) for name in ("stdout", "stderr")]
        environment = {key: value for key, value in os.environ.items() if key not in ("TF_CONFIG", "KERAS_BACKEND")}
        self.process = _FORK.Process(target=_run, args=(self.command, cwd, {**environment, **more}, self.files))
        self.process.start()

    def done(self, timeout=TIMEOUT):
        """Waits; returns the exit code and what was printed."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired(self.command, timeout)
        return subprocess.CompletedProcess(self.command, self.process.exitcode, *(f.read_text() for f in self.files))

    def kill(self):
        """Ends it, if it has not ended."""
        self.process.kill()


def run(path, *arguments, **options):
    """Runs a script to its end; returns the exit code and what was printed."""
    started = Started(path, *arguments, **options)
    try:
        return started.done()
    finally:
        started.kill()


def run_well(path, *arguments, **options):
    """Runs a script that must succeed; returns what was printed."""
    done = run(path, *arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_code(code, **options):
    """Runs lines of Python to their end, as a script; returns the exit code and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        (script := pathlib.Path(folder, "script.py")).write_text(code)
        return run(script, **options)


def _run(command, cwd, environment, files):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for descriptor, file in zip((1, 2), files):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    thrift.spare()
    sys.argv[:] = command
    sys.path.insert(0, os.path.dirname(command[0]))
    runpy.run_path(command[0], run_name="__main__")
