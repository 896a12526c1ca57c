import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Conversation, play, type ChatCompletion } from '@agentfleet/protocol/chat';
import { jsonOf } from '@agentfleet/protocol/text';
import { GatewayError } from './gatewayError.ts';
import { chunksOfAnswer } from './chunks.ts';
import type { Ask, Chunk, Provider } from './provider.ts';

const validate = new Ajv({ strict: false }).compile<Conversation>(Conversation);

interface Folder {
  /** Names, sizes and times of its files. */
  readonly stamp: string;
  readonly conversations: ReadonlyMap<string, Conversation>;
}

/** Plays recorded conversations by the content of a request, which shows the position in a conversation; no state is kept. */
export class ReplayProvider implements Provider {
  readonly several = true;
  readonly #folders = new Map<string, Folder>();

  async complete({ model, body }: Ask): Promise<ChatCompletion> {
    const { conversations } = await this.#folder(model.recording ?? '');
    const played = play(conversations, body);
    if (played.type === 'Answer') return played.response;
    throw new GatewayError(played.type === 'Ended' ? 'RecordEnded' : 'RecordMismatch', `${model.name}: ${played.message}`);
  }

  async *stream(ask: Ask): AsyncIterable<Chunk> {
    yield* chunksOfAnswer(await this.complete(ask), ask.model.name);
  }

  /** The conversations of a folder, as a ConfigMap is mounted; read again when its files change. */
  async #folder(path: string): Promise<Folder> {
    const names = (await readdir(path).catch(() => [])).filter((name) => name.endsWith('.json')).sort();
    if (names.length === 0) throw useless(`${path} has no *.json: mount the recorded conversations there`);
    const stats = await Promise.all(names.map((name) => stat(join(path, name))));
    const stamp = stats.map(({ mtimeMs, size, ino }, at) => `${names[at]}:${mtimeMs}:${size}:${ino}`).join();
    const known = this.#folders.get(path);
    if (known?.stamp === stamp) return known;
    const read = async (name: string): Promise<[string, Conversation]> => [
      name.slice(0, -'.json'.length),
      await conversationIn(join(path, name)),
    ];
    const folder = { stamp, conversations: new Map(await Promise.all(names.map(read))) };
    this.#folders.set(path, folder);
    return folder;
  }
}

async function conversationIn(file: string): Promise<Conversation> {
  const content = jsonOf(await readFile(file, 'utf8'));
  if (content === undefined) throw useless(`${file} is not JSON`);
  if (validate(content)) return content;
  const [error] = validate.errors ?? [];
  throw useless(`${file}: ${error?.instancePath.slice(1).replaceAll('/', '.') || 'the file'} ${error?.message}`);
}

function useless(message: string): GatewayError {
  return new GatewayError('RecordMismatch', `the recording cannot be played: ${message}`);
}
