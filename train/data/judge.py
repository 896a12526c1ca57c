"""Runs small programs on calls, in processes of their own that are bounded in time and memory.

One JSON object per line in, one out. The parent forks per request and waits for it, so at most one child is alive; it dies
with its parent. A request has one program or a few; when these together bring the child down, each is run alone.
"""

import ast
import copy
import ctypes
import gc
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import traceback
import warnings

CALL_SECONDS = 0.01
TRACED_CALL_SECONDS = 0.1
PROGRAM_SECONDS = 20.0
MEMORY = 512 * 1024 * 1024
FILE = '<program>'
SPEC = importlib.util.spec_from_file_location('api_use', sys.argv[1])
api_use = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(api_use)
LIBC = ctypes.CDLL(None)
HIDDEN_BUILTINS = {'open', 'exec', 'eval', 'compile', '__import__', 'input', 'breakpoint', 'exit', 'quit', 'help'}


class OutOfTime(BaseException):
    """A call took too long."""


def on_alarm(signum, frame):
    raise OutOfTime()


def load(source, name):
    builtins = {key: value for key, value in vars(__builtins__).items() if key not in HIDDEN_BUILTINS}
    space = {'__builtins__': builtins, '__name__': 'program'}
    exec(compile(source, FILE, 'exec'), space)
    return space, space[name]


def call(space, function, arguments, lines):
    values, named = eval('(lambda *a, **k: (a, k))(' + arguments + ')', dict(space))
    values, named = copy.deepcopy(values), copy.deepcopy(named)
    signal.setitimer(signal.ITIMER_VIRTUAL, CALL_SECONDS if lines is None else TRACED_CALL_SECONDS)
    if lines is not None:
        def trace(frame, event, argument):
            if frame.f_code.co_filename != FILE:
                return None
            if event == 'line':
                lines.add(frame.f_lineno)
            return trace
        sys.settrace(trace)
    try:
        return function(*values, **named)
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def last_line(error):
    rows = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    return rows[-1] if rows else 0


def attempt(space, request, at, lines):
    """What one call came to: (outcome, value or message, line of an exception)."""
    arguments = request['calls'][at]
    try:
        value = call(space, space[request['name']], arguments, lines)
    except OutOfTime:
        return 'T', 'Timeout: the call did not end', 0
    except RecursionError as error:
        return 'E', 'RecursionError: maximum recursion depth exceeded', last_line(error)
    except MemoryError:
        return 'E', 'MemoryError', 0
    except Exception as error:
        return 'E', '{}: {}'.format(type(error).__name__, error), last_line(error)
    return 'V', value, 0


def oracle(request):
    space, _ = load(request['source'], request['name'])
    answers = []
    for at in range(len(request['calls'])):
        kind, value, _ = attempt(space, request, at, None)
        if kind == 'V':
            text = repr(value)
            ast.literal_eval(text)
            answers.append(text)
        elif kind == 'E':
            answers.append('!' + value.partition(':')[0])
        else:
            raise ValueError('the reference does not end on ' + request['calls'][at])
    return {'expected': answers, 'complexity': api_use.complexity(ast.parse(request['source']))}


def judged(request, at, kind, value, line):
    expected = request['expected'][at]
    said = '{}({})'.format(request['name'], request['calls'][at])
    if expected.startswith('!'):
        if kind == 'E' and value.partition(':')[0] == expected[1:]:
            return 'P', '', 0
        return ('T' if kind == 'T' else 'F'), 'Failed: DID NOT RAISE {}: {}'.format(expected[1:], said), line
    if kind != 'V':
        return ('T' if kind == 'T' else 'F'), value[:300], line
    wanted = ast.literal_eval(expected)
    if type(value) is type(wanted) and value == wanted:
        return 'P', '', 0
    return 'F', 'AssertionError: assert {} == {}; it is {}'.format(said, expected, repr(value)[:200]), 0


def run(request):
    mismatches = [None, None]
    if request.get('api'):
        mismatches = api_use.judged('program.py', request['source'], api_use.Modules('/nonexistent', {}))[:2]
    try:
        tree = ast.parse(request['source'])
        space, _ = load(request['source'], request['name'])
    except (SyntaxError, NameError, TypeError, ValueError, KeyError) as error:
        return {'compiles': False, 'outcomes': 'F' * len(request['calls']), 'messages': {}, 'error': str(error)[:200],
                'api': mismatches}
    outcomes = ''
    messages = {}
    covered = []
    for at in range(len(request['calls'])):
        lines = set() if request.get('trace') else None
        # A program that does not end once is not waited for again.
        kind, value, line = ('T', 'Timeout: not run', 0) if 'T' in outcomes else attempt(space, request, at, lines)
        outcome, message, line = judged(request, at, kind, value, line)
        outcomes += outcome
        if message:
            messages[at] = [message, line]
        if lines is not None:
            covered.append(sorted(lines))
    found = {'compiles': True, 'outcomes': outcomes, 'messages': messages, 'covered': covered, 'complexity': api_use.complexity(tree),
             'lint': api_use.findings(tree)}
    return {**found, 'api': mismatches}


def child(request, pipe):
    LIBC.prctl(1, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (8, 8))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGVTALRM, on_alarm)
    sys.setrecursionlimit(400)
    if request['op'] == 'oracle':
        answer = oracle(request)
    else:
        answer = {'runs': [run({**request, 'source': source}) for source in request['sources']]}
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(pipe, data):]


def answer(request):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            child(request, writer)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    data = b''
    while True:
        ready, _, _ = select.select([reader], [], [], PROGRAM_SECONDS)
        if not ready:
            os.kill(pid, signal.SIGKILL)
            break
        part = os.read(reader, 65536)
        if not part:
            break
        data += part
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    return json.loads(data) if status == 0 and data else None


def alone(request, source):
    said = answer({**request, 'sources': [source]})
    return said['runs'][0] if said else {'crashed': True}


warnings.simplefilter('ignore')
gc.disable()
for line in sys.stdin:
    request = json.loads(line)
    said = answer(request)
    if said is None:
        said = {'runs': [alone(request, source) for source in request.get('sources', [])]}
    print(json.dumps({'id': request['id'], **said}), flush=True)
