"""Runs the tests of one case on its own text and on candidates, each in a child process.

Standard input: {"name", "source", "tests", "candidates": [text], "stop": bool}
Standard output: {"runs": [{"test", "outcome", "message", "trace", "lines"}], "passed": [bool]}

Coverage comes from sys.settrace, one fresh process per test. A child may use 0.5 s of processor
time and 10 s of wall time; a candidate that needs more has failed.
"""

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import types

PROCESSOR_SECONDS = 0.5
WALL_SECONDS = 10
MEMORY_BYTES = 1 << 30


def load(name, text):
    module = types.ModuleType(name)
    module.__file__ = name + '.py'
    sys.modules[name] = module
    exec(compile(text, name + '.py', 'exec'), module.__dict__)
    return module


def test_names(tests):
    return [line[4:line.index('(')] for line in tests.splitlines() if line.startswith('def test_')]


def child(work):
    """The answer of `work` from a child process, None when it died."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            signal.setitimer(signal.ITIMER_VIRTUAL, PROCESSOR_SECONDS)
            signal.alarm(WALL_SECONDS)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            answer = json.dumps(work()).encode()
            with os.fdopen(write, 'wb') as stream:
                stream.write(answer)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, 'rb') as stream:
        answer = stream.read()
    os.waitpid(pid, 0)
    return json.loads(answer) if answer else None


def traced(case, test):
    """One test under a tracer: lines of the subject that ran, and how it ended."""
    path = case['name'] + '.py'
    lines = set()

    def tracer(frame, event, _):
        if frame.f_code.co_filename != path:
            return None
        if event == 'line':
            lines.add(frame.f_lineno)
        return tracer

    def finish(outcome, message, trace):
        sys.settrace(None)
        return {'test': test, 'outcome': outcome, 'message': message, 'trace': trace, 'lines': sorted(lines)}

    sys.settrace(tracer)
    try:
        load(case['name'], case['source'])
        getattr(load(case['name'] + '_test', case['tests']), test)()
        return finish('Passed', '', '')
    except Exception as error:
        sys.settrace(None)
        frames = traceback.extract_tb(error.__traceback__)
        last = [frame for frame in frames if frame.filename.endswith('_test.py')][-1:]
        asserted = [case['tests'].splitlines()[frame.lineno - 1].strip() for frame in last]
        message = ' '.join([type(error).__name__ + ':', str(error)] + (asserted if not str(error) else []))
        return finish('Failed', message, traceback.format_exc())


def passes(case, text):
    def work():
        load(case['name'], text)
        module = load(case['name'] + '_test', case['tests'])
        for test in test_names(case['tests']):
            getattr(module, test)()
        return True

    return child(work) is True


def main():
    case = json.load(sys.stdin)
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    runs = []
    for test in test_names(case['tests']):
        died = {'test': test, 'outcome': 'Failed', 'message': 'the test timed out', 'trace': '', 'lines': []}
        runs.append(child(lambda test=test: traced(case, test)) or died)
    passed = []
    for text in case['candidates']:
        passed.append(passes(case, text))
        if passed[-1] and case['stop']:
            break
    os.chdir('/')
    shutil.rmtree(folder)
    json.dump({'runs': runs, 'passed': passed}, sys.stdout)


main()
