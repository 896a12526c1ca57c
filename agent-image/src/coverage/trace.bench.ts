// Measures the cost of tracing: `node hack/bootstrap.mjs agent-image/src/coverage/trace.bench.ts [python …]`. Prints
// one line for each Python, runner and suite: medians of 7 runs of 200 tests, start of Python included.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import program from './program.json' with { type: 'json' };

const runs = 7;
const tests = 200;
const dir = mkdtempSync(join(tmpdir(), 'trace-bench-'));

function write(path: string, content: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content);
}

/** `rounds` of a small loop in each test: 100 as in a unit test, 20 000 where the code under test is all that runs. */
function suite(rounds: number): string {
  const body = (at: number): string => `    def test_${at}(self):\n        self.assertIsInstance(code.f${at % 50}(${rounds}), int)\n`;
  return `import unittest\nimport code_under_test as code\n\n\nclass T(unittest.TestCase):\n${Array.from({ length: tests }, (_, at) => body(at)).join('\n')}`;
}

function median(program: string, args: readonly string[], env: Readonly<Record<string, string>>): number {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    rmSync(join(dir, 'out'), { recursive: true, force: true });
    mkdirSync(join(dir, 'out'));
    const started = performance.now();
    const { status, stderr } = spawnSync(program, args, { cwd: join(dir, 'workspace'), env: { PATH: process.env['PATH'], ...env } });
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} ends with ${status}: ${stderr.toString()}`);
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[Math.floor(runs / 2)] ?? 0;
}

const loop = (at: number): string =>
  `def f${at}(n):\n    total = 0\n    for k in range(n):\n        if k % 2:\n            total += k\n        else:\n            total -= 1\n    return total\n`;
for (const [path, content] of Object.entries(program)) write(`lib/${path}`, content);
write('workspace/code_under_test.py', Array.from({ length: 50 }, (_, at) => loop(at)).join('\n\n'));
write('workspace/test_small.py', suite(100));
write('workspace/test_busy.py', suite(20_000));
const env = { PYTHONPATH: join(dir, 'lib'), AGENTFLEET_TRACE_OUT: join(dir, 'out'), AGENTFLEET_TRACE_ROOT: join(dir, 'workspace') };
const programs = process.argv.slice(2);
for (const program of programs.length === 0 ? ['python3'] : programs) {
  const version = spawnSync(program, ['-c', 'import sys; print(sys.version.split()[0], end="")']).stdout.toString();
  for (const name of ['small', 'busy']) {
    for (const args of [
      ['-m', 'unittest', `test_${name}`],
      ['-m', 'pytest', '-q', `test_${name}.py`],
    ]) {
      if (args[1] === 'pytest' && spawnSync(program, ['-c', 'import pytest']).status !== 0) continue;
      const [plain, traced] = [median(program, args, {}), median(program, args, env)];
      const factor = (traced / plain).toFixed(2);
      console.log(`Python ${version} ${args[1]} ${name}: ${plain.toFixed(0)} ms, traced ${traced.toFixed(0)} ms, factor ${factor}`);
    }
  }
}
rmSync(dir, { recursive: true, force: true });
