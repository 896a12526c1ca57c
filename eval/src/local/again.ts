/** Recorded answers, given once more to prompts that may differ from the recorded ones. */
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ChatRequest, Conversation, RecordedExchange } from '@agentfleet/protocol/chat';

type Messages = RecordedExchange['messages'];

/** A server of the OpenAI chat API on a loopback port. */
export interface AnswerServer extends AsyncDisposable {
  readonly baseURL: string;
}

/**
 * Starts a server that gives the n-th recorded answer of the conversation with the same goal as its n-th answer, whatever else the
 * request says: after a change of prompts or observations recordings are made again with it, to be read before they are committed.
 *
 * @param folder recorded conversations, one a file
 */
export async function answersAgain(folder: string): Promise<AnswerServer> {
  const known: Conversation[] = [];
  for (const file of await readdir(folder)) known.push(JSON.parse(await readFile(join(folder, file), 'utf8')) as Conversation);
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { messages } = JSON.parse(Buffer.concat(parts).toString('utf8')) as ChatRequest;
      answer(response, known, messages);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, [Symbol.asyncDispose]: stop };
}

function answer(response: ServerResponse, known: readonly Conversation[], messages: Messages): void {
  const goal = goalOf(messages);
  const found = known.find(({ exchanges: [first] }) => goalOf(first?.request.messages ?? []) === goal);
  const at = messages.filter(({ role }) => role === 'assistant').length;
  const given = found?.exchanges[at]?.response;
  response.writeHead(given === undefined ? 400 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(given ?? { error: { message: `no answer ${at} for ${goal}`, type: 'invalid_request_error' } }));
}

/** The goal in the first message of a user: what stands between its first line and the first empty one. */
export function goalOf(messages: Messages): string {
  const first = messages.find(({ role }) => role === 'user')?.content;
  return typeof first === 'string' ? (first.split('\n\n')[0] ?? '').split('\n').slice(1).join('\n') : '';
}
