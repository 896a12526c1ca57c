// The tool loop, on a real keeper and a real runner, with tools that write into the home folder.
import { expect, test, vi } from 'vitest';
import type { ConversationMessage } from '@agentfleet/protocol/chat';
import { AgentBed, eachBed, runnerOfTests, ScriptedModels, steps } from './agentBed.ts';
import { taskFor } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const { binary, describe } = await runnerOfTests();

describe('caches that tools keep in the home folder', () => {
  let bed: AgentBed;
  eachBed(async () => (bed = await AgentBed.open(binary)));

  const lastOf = (messages: readonly ConversationMessage[] = []): string => messages.at(-1)?.text ?? '';
  const tool = `import os, sys
for name in sys.argv[1:]:
    path = os.path.join(os.environ['HOME'], name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'a').write('x')
`;
  const files = { ...wrongSign.files, 'tool.py': tool };

  test('are no act, and not in what a command is said to have changed', async () => {
    const names = '.cache/tool/deep/er/state .config/go/telemetry/local/go.count .gradle/caches/x.lock .bash_history .viminfo';
    const models = new ScriptedModels(
      steps(
        {
          calls: [
            [
              'bash',
              {
                command: `mkdir .git; echo x > .git/index; echo looked >> seen.txt; echo "$GOCACHE $GIT_OPTIONAL_LOCKS"; python3 tool.py ${names}`,
              },
            ],
          ],
        },
        { calls: [['edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' }]] },
        { calls: [['submit', { answer: 'The sign was wrong.' }]] },
      ),
    );
    const run = bed.begin(taskFor(files, wrongSign.command), models);
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
    expect(lastOf(models.requests[1]?.messages)).toMatch(/^\/tmp\/\.go-build 0\n.*; files: seen\.txt \(new\)\]$/);
  });

  test('are used by commands where set-up left compiled packages of Go there', async () => {
    const models = new ScriptedModels(
      steps({ calls: [['bash', { command: 'echo "GOCACHE=$GOCACHE"' }]] }, { calls: [['submit', { answer: 'no', unreachable: true }]] }),
    );
    const task = taskFor(files, wrongSign.command);
    const setup = [
      { name: 'build', command: ['python3', 'tool.py', '.cache/go-build/00/a'], timeoutSeconds: 60, network: 'None' as const },
    ];
    expect(await bed.engine.run(bed.begin({ ...task, setup }, models).context)).toMatchObject({ reason: 'GoalUnreachable' });
    expect(lastOf(models.requests[1]?.messages)).toMatch(/^GOCACHE=\n/);
  });

  test('are away when the result is proved: one that a check trusts proves nothing', async () => {
    const check = ['sh', '-c', 'test -e ~/.cache/tool/state || python3 -c "import calc; assert calc.add(2, 3) == 5"'];
    const poison = steps(
      { text: 'I fill the cache.', calls: [['bash', { command: 'python3 tool.py .cache/tool/state' }]] },
      { text: 'Done.', calls: [['submit', { answer: 'It holds.' }]] },
      { text: 'No.', calls: [['submit', { answer: 'no', unreachable: true }]] },
    );
    const models = new ScriptedModels(poison);
    const run = bed.begin(taskFor(files, check), models);
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Failed', reason: 'GoalUnreachable' });
    expect(lastOf(models.requests[2]?.messages)).toContain('in a fresh container, check unit: ');
  });

  test.each(['.bashrc', '.gradle/init.d/a.gradle', '.cargo/config.toml', '.local/bin/python3', '.config/git/config'])(
    'have no settings and nothing that shells run: %s',
    async (name) => {
      const models = new ScriptedModels(
        steps({ calls: [['bash', { command: `python3 tool.py ${name}` }]] }, { calls: [['submit', { answer: 'no', unreachable: true }]] }),
      );
      await bed.engine.run(bed.begin(taskFor(files, wrongSign.command), models).context);
      const last = lastOf(models.requests[1]?.messages);
      expect(last).toContain('refused and undone');
      expect(last).toContain(`${name} was added: it is outside of the workspace`);
    },
  );
});
