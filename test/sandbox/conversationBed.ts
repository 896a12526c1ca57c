import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog, systemClock } from '@agentfleet/kube';
import { conversationOf, type RecordedExchange } from '@agentfleet/protocol/chat';
import { gatewayModelsVariable, type GatewayModel } from '@agentfleet/protocol/gateway';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { ChatModelsClient, type ChatModels } from '../../agent-image/src/models/index.ts';
import { answersAgain, goalOf, type AnswerServer } from '../../eval/src/local/again.ts';
import { readGateway } from '../../inference-image/src/gateway/config.ts';
import { startGateway, type RunningGateway } from '../../inference-image/src/gateway/index.ts';
import { createLog } from '@agentfleet/protocol/log';

/** Recorded conversations, one a file. */
export const recordings = join(import.meta.dirname, 'conversations');

/**
 * Base URL of a server that replaces the recordings: then each conversation is played again, and its recording is
 * written. `again`: the recorded answers are played although a prompt or an observation has changed, and the result is
 * written, to be read before it is committed. Unset: recordings are played, and any difference fails.
 */
const asked = process.env['AGENTFLEET_PLAY'];

const common = { name: 'gen', maxOutputTokens: 4096, concurrency: 8, timeoutSeconds: 3600 } as const;

/** A real gateway in this process, with one model: the recordings, or a live endpoint that is recorded. */
export class ConversationBed implements AsyncDisposable {
  readonly models: ChatModels;
  readonly expert: ExpertEndpoint;
  readonly #gateway: RunningGateway;
  readonly #client: ChatModelsClient;
  readonly #folder: string;
  readonly #server: AnswerServer | undefined;

  private constructor(gateway: RunningGateway, folder: string, server: AnswerServer | undefined) {
    this.#gateway = gateway;
    this.#server = server;
    this.#folder = folder;
    this.#client = new ChatModelsClient({
      tokens: { token: () => Promise.resolve('none'), forget: () => undefined },
      audience: 'gateway',
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    });
    this.models = this.#client;
    const chat = { contextTokens: 64_000, maxOutputTokens: 4096, toolCalls: 'Native' } as const;
    this.expert = { name: 'gen', role: 'Generalist', engine: 'OpenAI', chat, domains: ['*'], url: gateway.address };
  }

  static async open(): Promise<ConversationBed> {
    const again = asked === 'again' ? await answersAgain(recordings) : undefined;
    const live = again?.baseURL ?? asked;
    const folder = await mkdtemp(join(tmpdir(), 'conversations-'));
    await mkdir(join(folder, 'recorded'));
    const model: GatewayModel =
      live === undefined
        ? { ...common, engine: 'Replay', recording: recordings }
        : { ...common, engine: 'OpenAI', baseURLs: [live], model: 'mailbox' };
    await writeFile(join(folder, 'models.json'), JSON.stringify({ format: 'agentfleet.dev/gateway/v1', models: [model] }));
    const config = readGateway({
      AGENTFLEET_LISTEN: '127.0.0.1:0',
      AGENTFLEET_AUTHENTICATION: 'None',
      [gatewayModelsVariable]: join(folder, 'models.json'),
      LOG_LEVEL: 'error',
      ...(live !== undefined && { AGENTFLEET_RECORD_TO: join(folder, 'recorded') }),
    });
    const logger = createLog('error', (line) => console.error(line), Date.now);
    return new ConversationBed(await startGateway({ config, logger }), folder, again);
  }

  /** Keeps a live conversation as the recording of a name; does nothing where recordings are played. */
  async keep(name: string, description: string, goal: string): Promise<void> {
    if (asked === undefined) return;
    const folder = join(this.#folder, 'recorded');
    for (const file of await readdir(folder)) {
      const lines = (await readFile(join(folder, file), 'utf8')).trim().split('\n');
      const exchanges = lines.map((line) => JSON.parse(line) as RecordedExchange);
      if (goalOf(exchanges[0]?.messages ?? []) !== goal) continue;
      await mkdir(recordings, { recursive: true });
      await writeFile(join(recordings, `${name}.json`), `${JSON.stringify(conversationOf(exchanges, description), undefined, 2)}\n`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    await this.#gateway.stop();
    await this.#server?.[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
