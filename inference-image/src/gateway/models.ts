import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { GatewayModels, type GatewayModel } from '@agentfleet/protocol/gateway';
import { ChangingFile, type WallClock } from '@agentfleet/protocol/tokens';
import { GatewayError } from './providers/gatewayError.ts';

const validate = new Ajv({ strict: false }).compile<GatewayModels>(GatewayModels);

/** Models by name. @throws Error that names the field and the cure */
function parseModels(text: string): ReadonlyMap<string, GatewayModel> {
  const content = JSON.parse(text) as unknown;
  if (!validate(content)) {
    const [error] = validate.errors ?? [];
    throw new Error(`models.json: ${error?.instancePath.slice(1).replaceAll('/', '.') || 'the file'} ${error?.message}`);
  }
  const models = new Map(content.models.map((model) => [model.name, model]));
  if (models.size < content.models.length) throw new Error('models.json: two models have one name; each needs its own');
  for (const model of content.models) {
    const fault = faultOf(model, models);
    if (fault !== null) throw new Error(`models.json: ${model.name}: ${fault}`);
  }
  return models;
}

function faultOf({ engine, name, ...model }: GatewayModel, models: ReadonlyMap<string, GatewayModel>): string | null {
  const { baseURLs, recording, fallback } = model;
  if (engine === 'Replay') return recording === undefined ? 'recording is missing; name the folder of its conversations' : null;
  if (baseURLs === undefined) return 'baseURLs is missing; name where the provider answers, as https://host/v1';
  if (model.model === undefined) return 'model is missing; write its name at the provider';
  if (fallback === undefined) return null;
  if (fallback === name) return 'fallback is the model itself; name another one or leave it out';
  return models.has(fallback) ? null : `fallback names ${fallback}, which is no model here; name one of ${[...models.keys()].join(', ')}`;
}

/** `models.json`, read again when it changes. A text that is of no use changes nothing and is reported. */
export class ModelsFile {
  readonly #file: ChangingFile<ReadonlyMap<string, GatewayModel>>;

  constructor(path: string, clock: WallClock, onError: (error: unknown) => void) {
    this.#file = new ChangingFile(path, parseModels, clock, onError);
  }

  /** @throws GatewayError before the file could be read for the first time */
  async current(): Promise<ReadonlyMap<string, GatewayModel>> {
    const models = await this.#file.current();
    if (models === undefined) throw new GatewayError('Stopping', 'models.json is not readable yet; the log of the gateway says why');
    return models;
  }
}

/** The key of a model as its file holds it now; null: it needs none. It is in memory for one request. */
export async function readKey({ name, credentialFile }: GatewayModel): Promise<string | null> {
  if (credentialFile === undefined) return null;
  const key = (await readFile(credentialFile, 'utf8').catch(() => '')).trim();
  // A header takes no other characters, and the error of one that refuses a value would quote it.
  if (key !== '' && !/^[\x21-\x7e]+$/.test(key))
    throw new GatewayError('CredentialMissing', `the credential of ${name} is no single line of visible characters: write the bare key`);
  if (key !== '') return key;
  throw new GatewayError('CredentialMissing', `the credential of ${name} has no key: create its Secret in the pool's namespace`);
}
