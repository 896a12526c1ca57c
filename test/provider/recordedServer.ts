import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { play, type ChatRequest, type Conversation } from '@agentfleet/protocol/chat';

/**
 * A server of the OpenAI chat API for who has the key, which plays recorded conversations: the provider that a pool's `baseURL`
 * names. Runs in a pod, bundled into one file. Arguments: folder of the recordings, key, and `hold` where a request is to be held.
 */
const [folder = '', key = '', hold] = process.argv.slice(2);
const conversations = new Map(
  readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => [file, JSON.parse(readFileSync(join(folder, file), 'utf8')) as Conversation]),
);

const thinkingMs = 1000;
/** The first request with an observation is held for so long: what is killed meanwhile dies in the middle of a request, and no command runs. */
const heldMs = 60_000;
let held = hold === undefined;

function delayOf({ messages }: ChatRequest): number {
  if (held || !messages.some(({ role }) => role === 'tool')) return thinkingMs;
  held = true;
  console.log('a request is held');
  return heldMs;
}

/** Orders of a cluster have names and people of their own; those of recordings are always the same. */
const asRecorded = (text: string): string => text.replaceAll(/(?<=\[answered by order )\S+ of [^\]]+(?=\])/g, 'order-1 of ann');

createServer((request, response) => {
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (request.headers.authorization !== `Bearer ${key}`)
    return answer(401, { error: { message: 'no such key', type: 'invalid_request_error' } });
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const asked = JSON.parse(asRecorded(Buffer.concat(parts).toString('utf8'))) as ChatRequest;
    const played = play(conversations, asked);
    if (played.type !== 'Answer') console.error(played.message);
    if (played.type === 'Answer') setTimeout(() => answer(200, played.response), delayOf(asked));
    else answer(400, { error: { message: played.message, type: 'invalid_request_error' } });
  });
}).listen(8080, '::');
