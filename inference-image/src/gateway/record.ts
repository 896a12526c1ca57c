import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChatCompletion, ChatRequest, RecordedExchange } from '@agentfleet/protocol/chat';
import { Serial } from '@agentfleet/protocol/serial';

/** Writes exchanges of live traffic to a folder: a file for each conversation, an exchange on each line. */
export class Recorder {
  readonly #folder: string;
  readonly #onError: (error: unknown) => void;
  /** Lines are written in the order of the answers. */
  readonly #writing = new Serial();

  constructor(folder: string, onError: (error: unknown) => void) {
    this.#folder = folder;
    this.#onError = onError;
  }

  /** Never rejects: a failed record must not fail the answer. */
  add(conversation: string, { messages, tools = [] }: ChatRequest, response: ChatCompletion): Promise<void> {
    const exchange: RecordedExchange = { messages, tools: tools.map(({ function: { name } }) => name), response };
    const file = join(this.#folder, `${createHash('sha256').update(conversation).digest('hex').slice(0, 16)}.jsonl`);
    const write = async (): Promise<void> => {
      await mkdir(this.#folder, { recursive: true });
      await appendFile(file, `${JSON.stringify(exchange)}\n`);
    };
    return this.#writing.run(write).catch(this.#onError);
  }
}
