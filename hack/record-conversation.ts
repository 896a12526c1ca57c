// Makes recordings that an engine `Replay` plays, one for each conversation, from records of models' answers: a folder
// with `requests/N.json` and `answers/N.json`, as a chat server writes that is answered by hand, or a folder of
// `AGENTFLEET_RECORD_TO`, which a gateway filled. Run as: node hack/record-conversation.ts FOLDER TARGET
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv, exit, stderr, stdout } from 'node:process';
import {
  conversationOf,
  normalMessage,
  type ChatCompletion,
  type ChatRequest,
  type Conversation,
  type RecordedExchange,
  type WireMessage,
} from '@agentfleet/protocol/chat';

/** An answer as it is written by hand: words, calls, several of them, or a refusal. */
interface HandAnswer {
  readonly content?: string | null;
  readonly tool_calls?: readonly { readonly id?: string; readonly name: string; readonly arguments?: unknown }[];
  readonly choices?: readonly HandAnswer[];
  readonly status?: number;
}

/** Conversations of a folder, by a name for the file of each. Requests that were refused or never answered are left out. */
export async function recordingsOf(folder: string): Promise<ReadonlyMap<string, Conversation>> {
  const exchanges = (await readdir(folder)).includes('requests') ? await fromHand(folder) : await fromGateway(folder);
  const byGoal = new Map<string, RecordedExchange[]>();
  for (const exchange of exchanges) {
    const goal = exchange.messages.map(normalMessage).find(({ role }) => role === 'user')?.text ?? '';
    byGoal.set(goal, [...(byGoal.get(goal) ?? []), exchange]);
  }
  const files = new Map<string, Conversation>();
  for (const [goal, own] of byGoal) {
    const slug = slugOf(goal);
    const name = files.has(slug) ? `${slug}-${files.size + 1}` : slug;
    files.set(name, conversationOf(own, goal.slice(0, 200)));
  }
  return files;
}

/** The first words of a goal, as a name of a file. */
function slugOf(goal: string): string {
  const words = goal.toLowerCase().match(/[a-z0-9]+/g) ?? ['conversation'];
  return words.slice(0, 8).join('-').slice(0, 60);
}

async function fromGateway(folder: string): Promise<readonly RecordedExchange[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text) => text.split('\n').filter(Boolean)).map((line) => JSON.parse(line) as RecordedExchange);
}

async function fromHand(folder: string): Promise<readonly RecordedExchange[]> {
  const answered = new Set(await readdir(join(folder, 'answers')));
  const names = (await readdir(join(folder, 'requests'))).filter((name) => /^\d+\.json$/.test(name) && answered.has(name)).sort();
  const exchanges: RecordedExchange[] = [];
  for (const name of names) {
    const request = JSON.parse(await readFile(join(folder, 'requests', name), 'utf8')) as ChatRequest;
    const answer = JSON.parse(await readFile(join(folder, 'answers', name), 'utf8')) as HandAnswer;
    if (answer.status !== undefined) continue;
    const tools = (request.tools ?? []).map((tool) => tool.function.name);
    exchanges.push({ messages: request.messages, tools, response: completionOf(answer, Number.parseInt(name, 10), request.messages) });
  }
  return exchanges;
}

/** The answer as the server sent it: its ids, and its estimates of tokens. */
function completionOf(answer: HandAnswer, seq: number, messages: readonly WireMessage[]): ChatCompletion {
  const choices = (answer.choices ?? [answer]).map(({ content = null, tool_calls: calls = [] }, index) => {
    const made = calls.map(({ id, name, arguments: args }, at) => ({
      id: id ?? `call_${seq}_${index}_${at}`,
      type: 'function' as const,
      function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
    }));
    const message: WireMessage = { role: 'assistant', content, ...(made.length > 0 && { tool_calls: made }) };
    return { index, message, finish_reason: made.length > 0 ? 'tool_calls' : 'stop' };
  });
  const tokens = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4);
  const prompt = tokens(messages);
  const completion = choices.reduce((sum, { message }) => sum + tokens(message), 0);
  return { choices, usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } };
}

if (import.meta.main) {
  const [folder, target] = argv.slice(2);
  if (folder === undefined || target === undefined) {
    stderr.write('record-conversation: name the folder with what was written down, and the folder for the recordings\n');
    exit(2);
  }
  await mkdir(target, { recursive: true });
  for (const [name, conversation] of await recordingsOf(folder)) {
    await writeFile(join(target, `${name}.json`), `${JSON.stringify(conversation, null, 1)}\n`);
    stdout.write(`${join(target, `${name}.json`)}: ${conversation.exchanges.length} exchanges\n`);
  }
}
