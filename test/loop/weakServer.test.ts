import { expect, vi } from 'vitest';
import { silentLog, systemClock } from '@agentfleet/kube';
import { ChatModelsClient } from '../../agent-image/src/models/client.ts';
import type { ChatModels } from '../../agent-image/src/models/models.ts';
import { Stage } from '../../inference-image/src/gateway/testing/harness.ts';
import { FakeProvider, refuse, tell, type ProviderCall } from '../../inference-image/src/gateway/testing/provider.ts';
import { AgentBed, runnerOfTests } from './agentBed.ts';
import { taskFor } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** A weak model on a server that leaves its calls in the text: through the real gateway and client into the tool loop, on a real keeper. */
const { binary, test } = await runnerOfTests();

interface Message {
  readonly role: string;
  readonly content: unknown;
}
const messagesOf = ({ body }: ProviderCall): readonly Message[] => body['messages'] as readonly Message[];

const look = '<tool_call>\n<function=read_file>\n<parameter=path>\ncalc.py\n</parameter>\n</function>\n</tool_call>';
const cut = '<tool_call>\n{"name": "edit_file", "arguments": {"path": "calc.py", "old_text": "a - b", "new_text": "a +';
const mend = '{"name": "edit_file", "arguments": {"file_path": "calc.py", "old_string": "a - b", "new_string": "a + b",}}';
const submit = '[TOOL_CALLS]submit[ARGS]{"answer": "add adds."}';

test('a task of a weak model succeeds', async () => {
  await using bed = await AgentBed.open(binary);
  const provider = new FakeProvider();
  const stage = await Stage.open();
  const audience = 'gateway';
  const tokens = { token: () => Promise.resolve('token'), forget: () => undefined };
  await provider.start();
  await stage.models({ name: 'gen', baseURLs: [provider.url], maxOutputTokens: 2048 });
  await stage.start();
  const client = new ChatModelsClient({ tokens, audience, clock: systemClock, random: Math.random, log: silentLog });
  const models: ChatModels = { complete: (expert, request, signal) => client.complete({ ...expert, url: stage.origin }, request, signal) };
  provider.play(
    tell([{ content: `I look.\n${look}` }]),
    refuse(500, { error: { message: `Failed to parse input at pos 0: ${cut}`, code: 500, type: 'server_error' } }),
    ...['I would change a - b into a + b.', mend, submit].map((content) => tell([{ content }])),
  );
  try {
    const outcome = await bed.engine.run(bed.begin(taskFor(wrongSign.files, wrongSign.command), models).context);
    const observed = provider.calls.slice(1).map((call) => messagesOf(call).at(-1)?.content);
    expect(observed).toEqual([
      expect.stringMatching(/^1 \| def add/),
      expect.stringMatching(/^the arguments of edit_file are not JSON: they end in the middle/),
      expect.stringMatching(/^Your reply had no tool call/),
      expect.stringMatching(/^changed calc\.py\n/),
    ]);
    expect(outcome).toMatchObject({ result: 'Succeeded' });
  } finally {
    await client.close();
    await stage.close();
    await provider.stop();
  }
});
