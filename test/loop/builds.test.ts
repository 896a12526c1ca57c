// Checks that build, on a real keeper and a real runner, with the build tools of this machine.
import { existsSync } from 'node:fs';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import { execa } from 'execa';
import { expect, test, vi } from 'vitest';
import { AgentBed, runnerOfTests, ScriptedModels, steps } from './agentBed.ts';
import { taskFor, type Workspace } from './loopBed.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 });

const available = async (...programs: readonly string[]): Promise<boolean> =>
  (await Promise.all(programs.map((program) => execa(program, ['--version'], { reject: false })))).every(({ code }) => code !== 'ENOENT');

const jars = ['junit4.jar', 'hamcrest-core.jar'].map((name) => `/usr/share/java/${name}`);
const hasGradle = (await available('gradle', 'javac')) && jars.every((path) => existsSync(path));
const { binary, describe } = await runnerOfTests();

const run = (command: string) => ({ calls: [['bash', { command }]] as const });
const submit = { calls: [['submit', { answer: 'done' }]] } as const;
const seen = ({ requests }: ScriptedModels, at: number): string => requests[at]?.messages.at(-1)?.text ?? '';

const tests = (name: string): string =>
  `package p;\nimport org.junit.*;\npublic class CalcTest {\n  @Test public void fine() { Calc.half(0); }\n  @Test public void ${name}() { Assert.assertEquals(2, Calc.half(4)); }\n}\n`;
const calc = (body: string): string => `package p;\npublic class Calc {\n  static int half(int n) { ${body} }\n}\n`;
const modules = {
  '.gitignore': 'build/\n.gradle/\n',
  'settings.gradle': "include 'a', 'b'\n",
  'build.gradle': `subprojects {\n  apply plugin: 'java'\n  dependencies { testCompile files(${jars.map((path) => `'${path}'`).join(', ')}) }\n}\n`,
  'a/src/main/java/p/Calc.java': calc('return n;'),
  'a/src/test/java/p/CalcTest.java': tests('halves'),
  'b/src/main/java/p/Calc.java': calc('return n / 2;'),
  'b/src/test/java/p/CalcTest.java': tests('also'),
};
const gradle = ['gradle', '--offline', '--no-daemon', '--continue', 'test'];
const forged = `<testsuite name="p.CalcTest" tests="1"><testcase name="halves" classname="p.CalcTest"/></testsuite>`;
// It evades what is looked for in sources.
const halt = 'try { Runtime.class.getMethod("ha" + "lt", int.class).invoke(Runtime.getRuntime(), 0); } catch (Exception e) { } return n;';

const spec = (files: Workspace, command: readonly string[]): ReturnType<typeof taskFor> => ({
  ...taskFor(files, command),
  checks: [{ name: 'unit', command: [...command], timeoutSeconds: 300 }] as unknown as AgentTaskSpec['checks'],
});

const sources = {
  'calc.cpp': 'int half(int n) { return n; }\n',
  'tests/half.cpp': 'int half(int);\nint main() { return half(4) == 2 ? 0 : 1; }\n',
  'tests/zero.cpp': 'int half(int);\nint main() { return half(0) == 0 ? 0 : 1; }\n',
};
const builders = {
  CMake: {
    files: {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.13)\nproject(calc CXX)\nadd_library(calc calc.cpp)\nif(WITH_TESTS)\n  enable_testing()\n  add_subdirectory(tests)\nendif()\n',
      'tests/CMakeLists.txt':
        'foreach(name half zero)\n  add_executable(${name} ${name}.cpp)\n  target_link_libraries(${name} calc)\n  add_test(NAME ${name} COMMAND ${name})\nendforeach()\n',
    },
    setUp: 'cmake -S . -B build -DWITH_TESTS=ON && cmake --build build',
    build: 'cmake --build build',
    check: 'cmake --build build && ctest --test-dir build',
    more: { old_text: 'calc.cpp)', new_text: 'calc.cpp src/two.cpp)' },
    forge: "printf 'add_test(half /bin/true)\\nadd_test(zero /bin/true)\\n' > build/tests/CTestTestfile.cmake",
  },
  Meson: {
    files: {
      'meson.build':
        "project('calc', 'cpp')\nlib = static_library('calc', 'calc.cpp')\nforeach name : ['half', 'zero']\n  test(name, executable(name, 'tests' / name + '.cpp', link_with: lib))\nendforeach\n",
    },
    setUp: 'meson setup build && ninja -C build',
    build: 'ninja -C build',
    check: 'meson test -C build',
    more: { old_text: "'calc.cpp')", new_text: "'calc.cpp', 'src/two.cpp')" },
    forge: "printf '#!/bin/sh\\n' > build/half; touch -d 2100-01-01 build/half",
  },
};

describe('checks that build', () => {
  test.skipIf(!hasGradle)(
    'Gradle: tests have names by module; neither an old result nor an early end of their process is a proof',
    async () => {
      await using bed = await AgentBed.open(binary);
      const edit = (from: string, to: string) =>
        ({ calls: [['edit_file', { path: 'a/src/main/java/p/Calc.java', old_text: from, new_text: to }]] }) as const;
      const plant = run(`mkdir -p a/build/test-results/test && echo '${forged}' > a/build/test-results/test/TEST-p.CalcTest.xml`);
      const models = new ScriptedModels(steps(edit('return n;', halt), plant, submit, edit(halt, 'return n / 2;'), submit));
      expect(await bed.engine.run(bed.begin(spec(modules, gradle), models).context)).toMatchObject({ result: 'Succeeded' });
      expect(seen(models, 3)).toMatch(/a > p\.CalcTest > \w+ does not run any more/);
      const baseline = (await bed.notes()).find(({ kind }) => kind === 'Baseline')?.data['checks'];
      expect(baseline).toMatchObject([{ format: 'JUnit', failing: ['a > p.CalcTest > halves'], flaky: [] }]);
    },
  );

  test.for(['CMake', 'Meson'] as const)(
    '%s: a build folder of set-up may be built in, and what lies there proves nothing',
    async (tool, { skip }) => {
      if (!(await available(...(tool === 'CMake' ? ['cmake', 'ctest', 'c++'] : ['meson', 'ninja', 'c++'])))) skip();
      await using bed = await AgentBed.open(binary);
      const { files, setUp, build, check, forge, more } = builders[tool];
      const edit = {
        calls: [
          [
            'edit_file',
            { path: 'calc.cpp', old_text: 'int half(int n) { return n; }', new_text: 'int two();\nint half(int n) { return n / two(); }' },
          ],
          ['edit_file', { path: 'src/two.cpp', old_text: '', new_text: 'int two() { return 2; }\n' }],
          ['edit_file', { path: tool === 'CMake' ? 'CMakeLists.txt' : 'meson.build', ...more }],
        ],
      } as const;
      // Older than what set-up built.
      const models = new ScriptedModels(steps(run('sh try.sh'), submit, edit, run(`${build} && touch -d 2001-01-01 calc.cpp`), submit));
      const task = {
        ...spec({ '.gitignore': 'build/\n', 'try.sh': forge, ...sources, ...files }, ['sh', '-c', check]),
        setup: [{ name: 'build', command: ['sh', '-c', setUp], network: 'None' as const }],
      };
      expect(await bed.engine.run(bed.begin(task, models).context)).toMatchObject({ result: 'Succeeded' });
      expect(seen(models, 1)).toMatch(/^\[exit status 0, /);
      expect(seen(models, 2)).toContain('in a fresh container, check unit: no test that failed at the baseline passes now');
      expect(seen(models, 4)).toContain('[exit status 0, ');
    },
  );
});
