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
  checks: [{ name: 'unit', command: [...command], timeoutSeconds: 120 }] as unknown as AgentTaskSpec['checks'],
});

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
});
