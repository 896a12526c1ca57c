/** Recorded answers, given once more to prompts that may differ from the recorded ones. */
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { ChatRequest, Conversation, RecordedExchange } from '@agentfleet/protocol/chat';

type Messages = RecordedExchange['messages'];

/** A server of the OpenAI chat API. */
export interface AnswerServer extends AsyncDisposable {
  readonly baseURL: string;
}

/** Address; default: a free port of the loopback, for all callers. */
interface AnswerPlace {
  readonly host?: string;
  readonly port?: number;
  /** The one bearer token that is answered. */
  readonly key?: string;
}

/**
 * Starts a server that gives the n-th recorded answer of the conversation with the same goal as its n-th answer,
 * whatever the rest of the request: after a change of prompts or observations, recordings are made again with it and
 * read before they are committed.
 *
 * @param folder recorded conversations, one a file
 */
export async function answersAgain(folder: string, { host = '127.0.0.1', port = 0, key }: AnswerPlace = {}): Promise<AnswerServer> {
  const known: Conversation[] = [];
  const files = (await readdir(folder)).filter((file) => file.endsWith('.json'));
  for (const file of files) known.push(JSON.parse(await readFile(join(folder, file), 'utf8')) as Conversation);
  const server = createServer((request, response) => {
    if (key !== undefined && request.headers.authorization !== `Bearer ${key}`) return refuse(response, 401, 'no such key');
    void json(request).then((body) => answer(response, known, (body as ChatRequest).messages));
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { baseURL: `http://${host}:${(server.address() as AddressInfo).port}/v1`, [Symbol.asyncDispose]: stop };
}

function answer(response: ServerResponse, known: readonly Conversation[], messages: Messages): void {
  const goal = goalOf(messages);
  const found = known.find(({ exchanges: [first] }) => goalOf(first?.request.messages ?? []) === goal);
  const at = messages.filter(({ role }) => role === 'assistant').length;
  const given = found?.exchanges[at]?.response;
  if (given === undefined) return refuse(response, 400, `no answer ${at} for ${goal}`);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(given));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
}

/** Returns the goal in the first message of a user: the text between its first line and the first empty one. */
export function goalOf(messages: Messages): string {
  const first = messages.find(({ role }) => role === 'user')?.content;
  return typeof first === 'string' ? (first.split('\n\n')[0] ?? '').split('\n').slice(1).join('\n') : '';
}
