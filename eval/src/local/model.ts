/** A chat model in a local pool: a gateway process of the checkout before an endpoint, or before recorded conversations. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ChatModelsClient, type ChatModels } from '@agentfleet/agent/models';
import { silentLog, systemClock } from '@agentfleet/kube';
import { conversationOf, type RecordedExchange } from '@agentfleet/protocol/chat';
import { gatewayModelsVariable, gatewayWord, type GatewayModel, type GatewayModels } from '@agentfleet/protocol/gateway';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { EvalError } from '../failure.ts';
import type { ModelOptions } from '../run/pool.ts';
import { answersAgain, type AnswerServer } from './again.ts';
import { startServer, type RunningServer } from './servers.ts';

const name = 'model';

interface Parts {
  readonly server: RunningServer;
  /** Folder that the gateway records to. */
  readonly recorded: string;
  readonly answers: AnswerServer | undefined;
}

/** The chat model of a local pool, in place of the search for edits. */
export class LocalModel implements AsyncDisposable {
  readonly models: ChatModels;
  readonly expert: ExpertEndpoint;
  readonly #server: RunningServer;
  readonly #client: ChatModelsClient;
  readonly #recorded: string;
  readonly #answers: AnswerServer | undefined;

  private constructor({ server, recorded, answers }: Parts, options: ModelOptions) {
    const { contextTokens, maxOutputTokens, toolCalls } = options;
    this.#server = server;
    this.#recorded = recorded;
    this.#answers = answers;
    this.#client = new ChatModelsClient({
      tokens: { token: () => Promise.resolve('none'), forget: () => undefined },
      audience: 'gateway',
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    });
    this.models = this.#client;
    const chat = { contextTokens, maxOutputTokens, toolCalls };
    this.expert = { name, role: 'Generalist', engine: 'OpenAI', chat, domains: ['*'], url: server.address };
  }

  /** @param folder for settings and records of the gateway @throws EvalError where the key is missing or the gateway does not start */
  static async open(checkout: string, folder: string, options: ModelOptions): Promise<LocalModel> {
    const recorded = join(folder, 'recorded');
    await mkdir(recorded, { recursive: true });
    const { recordings, again = false } = options;
    const answers = again && recordings !== undefined ? await answersAgain(recordings) : undefined;
    const model = await modelOf(folder, options, answers?.baseURL ?? options.endpoint);
    const models: GatewayModels = { format: 'agentfleet.dev/gateway/v1', models: [model] };
    const file = join(folder, 'models.json');
    await writeFile(file, JSON.stringify(models));
    const server = await startServer(checkout, [gatewayWord], {
      [gatewayModelsVariable]: file,
      ...(model.engine !== 'Replay' && { AGENTFLEET_RECORD_TO: recorded }),
    });
    return new LocalModel({ server, recorded, answers }, options);
  }

  /** Writes all conversations that were had so far to a folder, one a file, in the form that `--recordings` plays. */
  async keep(folder: string): Promise<number> {
    const files = await readdir(this.#recorded);
    await mkdir(folder, { recursive: true });
    for (const file of files) {
      const lines = (await readFile(join(this.#recorded, file), 'utf8')).trim().split('\n');
      const conversation = conversationOf(
        lines.map((line) => JSON.parse(line) as RecordedExchange),
        'fleet eval run',
      );
      await writeFile(join(folder, file.replace(/\.jsonl$/, '.json')), `${JSON.stringify(conversation, undefined, 2)}\n`);
    }
    return files.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    await this.#server[Symbol.asyncDispose]();
    await this.#answers?.[Symbol.asyncDispose]();
  }
}

async function modelOf(folder: string, options: ModelOptions, endpoint: string | undefined): Promise<GatewayModel> {
  const { recordings, model, keyEnv, maxOutputTokens, timeoutSeconds } = options;
  const common = { name, maxOutputTokens, concurrency: 64, timeoutSeconds };
  if (endpoint === undefined) {
    if (recordings === undefined) throw new EvalError('a model is an endpoint or recordings');
    return { ...common, engine: 'Replay', recording: recordings };
  }
  const key = keyEnv === undefined ? undefined : process.env[keyEnv];
  if (keyEnv !== undefined && (key === undefined || key === ''))
    throw new EvalError(`the variable ${keyEnv} holds no key; set it, or leave --key-env out for an endpoint without one`);
  const credentialFile = join(folder, 'key');
  if (key !== undefined) await writeFile(credentialFile, key, { mode: 0o600 });
  return { ...common, engine: 'OpenAI', baseURLs: [endpoint], model, ...(key !== undefined && { credentialFile }) };
}
