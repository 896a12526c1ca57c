import { readFile } from 'node:fs/promises';
import { isNotFound, ResourceClient } from '@agentfleet/kube';
import { apiVersion } from '@agentfleet/protocol/api';
import { expertPools, secrets } from '../base/connection.ts';
import { CliError } from '../base/failure.ts';
import { objectLines } from '../text/output.ts';
import type { CommandContext } from './command.ts';

export interface InitFlags {
  readonly endpoint?: string;
  readonly model?: string;
  readonly type: 'OpenAI' | 'Anthropic';
  readonly keyFile?: string;
  readonly keyEnv?: string;
  readonly name: string;
  readonly allNamespaces: boolean;
  readonly dryRun: boolean;
}

async function keyOf({ env, ask }: CommandContext, { keyFile, keyEnv }: InitFlags): Promise<string> {
  const key =
    keyFile !== undefined
      ? await readFile(keyFile, 'utf8').catch((error: unknown) => {
          throw new CliError(`${keyFile} cannot be read (${error instanceof Error ? error.message : String(error)}); correct --key-file`);
        })
      : keyEnv !== undefined
        ? env[keyEnv]
        : await ask?.('Key of the endpoint (not shown): ', true);
  if (key === undefined || key.trim() === '')
    throw new CliError('there is no key of the endpoint; name a file with --key-file, or a variable of the environment with --key-env');
  return key.trim();
}

async function answered({ ask }: CommandContext, given: string | undefined, question: string, flag: string): Promise<string> {
  const text = given ?? (await ask?.(`${question}: `, false));
  if (text === undefined || text.trim() === '') throw new CliError(`${flag} is missing; give it, or run it at a terminal, where it asks`);
  return text.trim();
}

/** A pool with one expert: a model behind an API. Pure. @throws CliError when the endpoint is no address */
export function firstPool(endpoint: string, model: string, { name, type, allNamespaces }: InitFlags, namespace: string) {
  const host = URL.parse(endpoint)?.hostname;
  if (host === undefined || host === '' || !/^https?:/.test(endpoint))
    throw new CliError(`--endpoint ${endpoint} is no base URL; write it like https://llm.example.com/v1`);
  const api = { baseURL: endpoint.replace(/\/+$/, ''), model, credential: 'key' };
  return {
    apiVersion,
    kind: 'ExpertPool' as const,
    metadata: { name, namespace },
    spec: {
      default: true,
      ...(allNamespaces ? { allowedNamespaces: { from: 'All' } } : {}),
      experts: [{ name: 'gen', role: 'Generalist', engine: { type, api } }],
      credentials: [{ name: 'key', secretRef: { name: `${name}-key`, key: 'token' }, hosts: [host] }],
      workers: { replicas: 1 },
    },
  };
}

/** Makes a Secret with the key of an endpoint, and a pool that uses it. */
export async function init(context: CommandContext, flags: InitFlags): Promise<void> {
  const { transport, namespace, signal, print } = context;
  const endpoint = await answered(context, flags.endpoint, 'Base URL of the model, such as https://llm.example.com/v1', '--endpoint');
  const model = await answered(context, flags.model, 'Name of the model at that endpoint', '--model');
  const pool = firstPool(endpoint, model, flags, namespace);
  if (flags.dryRun) {
    for (const line of await objectLines(pool, 'yaml')) print(line);
    return;
  }
  const pools = new ResourceClient(transport, expertPools);
  if ((await pools.find({ namespace, name: flags.name }, { signal })) !== undefined)
    throw new CliError(`there is an ExpertPool ${flags.name} in namespace ${namespace}; choose another --name, or delete it`);
  const metadata = { name: `${flags.name}-key`, namespace };
  const stringData = { token: await keyOf(context, flags) };
  const written = { fieldManager: 'fleet', signal };
  try {
    await new ResourceClient(transport, secrets).apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData }, written);
    await pools.apply(pool, written);
  } catch (error) {
    if (isNotFound(error) && (error as Error).message.includes(`"${namespace}"`))
      throw new CliError(`there is no namespace ${namespace}; make it with "kubectl create namespace ${namespace}"`);
    throw error;
  }
  print(`Secret ${namespace}/${metadata.name} and ExpertPool ${namespace}/${flags.name} are written`);
  print(`wait until it is ready: kubectl -n ${namespace} wait --for=condition=Ready expertpool/${flags.name} --timeout=5m`);
  print(`then: fleet run -n ${namespace} --from . --check 'npm test' 'Make the failing tests pass.'`);
}
