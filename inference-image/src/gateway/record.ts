import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChatCompletion, ChatRequest, RecordedExchange } from '@agentfleet/protocol/chat';

/** Writes exchanges of live traffic to a folder: a file for each conversation, an exchange on each line. */
export class Recorder {
  readonly #folder: string;
  readonly #onError: (error: unknown) => void;
  /** Lines are written in the order of the answers. */
  #last: Promise<void> = Promise.resolve();

  constructor(folder: string, onError: (error: unknown) => void) {
    this.#folder = folder;
    this.#onError = onError;
  }

  /** Never rejects: a failed record must not fail the answer. */
  add(conversation: string, { messages, tools = [] }: ChatRequest, response: ChatCompletion): Promise<void> {
    const exchange: RecordedExchange = { messages, tools: tools.map(({ function: { name } }) => name), response };
    const name = `${createHash('sha256').update(conversation).digest('hex').slice(0, 16)}.jsonl`;
    this.#last = this.#last.then(() => this.#write(name, exchange)).catch(this.#onError);
    return this.#last;
  }

  async #write(name: string, exchange: RecordedExchange): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await appendFile(join(this.#folder, name), `${JSON.stringify(exchange)}\n`);
  }
}
