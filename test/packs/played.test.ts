// Conversations that were had with the tool loop about tasks of the packs, played by hand through a mailbox, and played again here: prompts, tools,
// observations and both gates as they are now, the hidden check at the end. AGENTFLEET_PLAY=again gives the recorded answers to
// prompts that differ and writes what comes of it, to be read before it is committed.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { variantsOf, type Variant } from '@agentfleet/eval';
import { loadPack, type PackTask } from '@agentfleet/eval/format';
import { goalOf, LocalPool } from '@agentfleet/eval/local';
import type { Conversation } from '@agentfleet/protocol/chat';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const folder = join(import.meta.dirname, 'played');
const again = process.env['AGENTFLEET_PLAY'] === 'again';
const names = (await readdir(folder)).map((file) => file.replace(/\.json$/, '')).sort();
const packs = ['acceptance', 'code-small', 'contracts', 'mini-swe', 'os', 'trap'];
const tasks = new Map<string, PackTask>();
for (const pack of packs)
  for (const task of (await loadPack(join(import.meta.dirname, pack))).tasks) tasks.set(task.id.replaceAll('/', '-'), task);

const read = async (file: string): Promise<Conversation> => JSON.parse(await readFile(file, 'utf8')) as Conversation;
const goal = ({ exchanges: [first] }: Conversation): string => goalOf(first?.request.messages ?? []);

describe.concurrent('conversations about tasks of the packs', { timeout: 600_000 }, () => {
  let pool: LocalPool;
  beforeAll(async () => {
    const model = { recordings: folder, again, model: 'player', contextTokens: 64_000, maxOutputTokens: 4096 } as const;
    const options = { checkout: join(import.meta.dirname, '../..'), budget: { toolCalls: 150, wallSeconds: 600 } };
    pool = await LocalPool.open({ ...options, model: { ...model, toolCalls: 'Native', timeoutSeconds: 60 } });
  }, 180_000);
  afterAll(async () => {
    if (again) await keepAll(pool);
    await pool[Symbol.asyncDispose]();
  });

  test.each(names)('%s is solved with every gate on', async (name) => {
    const task = tasks.get(name);
    if (task === undefined) throw new Error(`${name} is no task of ${packs.join(', ')}; remove its recording`);
    const [full] = variantsOf([]) as [Variant];
    const attempted = await pool.attempt(task, full, { seed: 20_261_124, round: 1, signal: new AbortController().signal });
    expect(attempted, attempted.message).toMatchObject({ result: 'Succeeded', hidden: 'Passed', conversation: { refusals: 0 } });
  });
});

/** Writes each conversation in the place of the one with its goal. */
async function keepAll(pool: LocalPool): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'played-'));
  await pool.keepConversations(scratch);
  const places = new Map<string, string>();
  for (const name of names) places.set(goal(await read(join(folder, `${name}.json`))), name);
  for (const file of await readdir(scratch)) {
    const made = await read(join(scratch, file));
    const kept = { ...made, description: 'played by hand through a mailbox' };
    await writeFile(join(folder, `${places.get(goal(made))}.json`), `${JSON.stringify(kept, undefined, 2)}\n`);
  }
  await rm(scratch, { recursive: true });
}
