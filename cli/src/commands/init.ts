import { isNotFound, ResourceClient } from '@agentfleet/kube';
import { apiVersion } from '@agentfleet/protocol/api';
import { expertPools, secrets } from '../base/connection.ts';
import { CliError, readNamed } from '../base/failure.ts';
import { objectLines } from '../text/format.ts';
import type { CommandContext } from './command.ts';
import { baseUrl, endpointOf, findingOf, type EndpointType } from './endpoint.ts';

interface InitFlags {
  readonly endpoint?: string;
  readonly model?: string;
  readonly type: EndpointType;
  readonly keyFile?: string;
  readonly keyEnv?: string;
  /** False: the endpoint takes none. */
  readonly key?: boolean;
  /** Address of a repository, or of the server of several. */
  readonly git?: string;
  readonly gitKeyFile?: string;
  readonly gitKeyEnv?: string;
  /** The Git server has a private address. */
  readonly gitPrivate?: boolean;
  readonly name: string;
  readonly allNamespaces?: boolean;
  readonly dryRun?: boolean;
}

/** Source of a secret, and its name. */
interface Source {
  readonly what: string;
  readonly flag: '--key' | '--git-key';
  readonly file: string | undefined;
  readonly variable: string | undefined;
}

async function secretOf({ env, ask }: CommandContext, { what, flag, file, variable }: Source): Promise<string> {
  const found =
    file !== undefined
      ? await readNamed(file, `correct ${flag}-file`)
      : variable !== undefined
        ? env[variable]
        : await ask?.(`${what} (not shown): `, true);
  if (found === undefined || found.trim() === '')
    throw new CliError(
      `there is no ${what.charAt(0).toLowerCase()}${what.slice(1)}; name a file with ${flag}-file, or a variable of the environment with ${flag}-env${flag === '--key' ? ', or write --no-key where it takes none' : ''}`,
    );
  // A header takes no other characters.
  if (!/^[\x21-\x7e]+$/.test(found.trim()))
    throw new CliError(
      `the ${what.charAt(0).toLowerCase()}${what.slice(1)} is no single line of visible characters; give the bare ${flag.slice(2)}`,
    );
  return found.trim();
}

async function answered({ ask }: CommandContext, given: string | undefined, question: string, flag: string): Promise<string> {
  const text = given ?? (await ask?.(`${question}: `, false));
  if (text === undefined || text.trim() === '') throw new CliError(`${flag} is missing; give it, or run it at a terminal, where it asks`);
  return text.trim();
}

/** Returns the fields that the pool needs for repositories of a server. Pure. @throws CliError when it is no https address */
function gitOf(name: string, { git, gitPrivate }: Pick<InitFlags, 'git' | 'gitPrivate'>) {
  if (git === undefined) return { credentials: [], policy: {} };
  const url = URL.parse(git);
  if (url?.protocol !== 'https:' || url.username !== '')
    throw new CliError(`--git ${git} is no https address without credentials; write it like https://git.example.com/team/project.git`);
  const host = url.hostname;
  const hosts = host === 'github.com' ? [host, 'api.github.com'] : [host];
  const credential = { name: 'git', secretRef: { name: `${name}-git`, key: 'token' }, hosts };
  const policy = { policy: { allowedHosts: [{ host, port: Number(url.port) || 443 }] } };
  return { credentials: [credential], policy: gitPrivate === true ? policy : {} };
}

/** A pool with one expert: a model behind an API. Pure. @throws CliError when the endpoint is no address */
export function firstPool(endpoint: string, model: string, flags: InitFlags, namespace: string) {
  const { name, type, allNamespaces, key = true } = flags;
  const url = endpointOf(endpoint, type);
  const git = gitOf(name, flags);
  const api = { baseURL: baseUrl(url), model, ...(key && { credential: 'key' }) };
  const own = { name: 'key', secretRef: { name: `${name}-key`, key: 'token' }, hosts: [url.hostname] };
  const credentials = [...(key ? [own] : []), ...git.credentials];
  return {
    apiVersion,
    kind: 'ExpertPool' as const,
    metadata: { name, namespace },
    spec: {
      default: true,
      ...(allNamespaces === true ? { allowedNamespaces: { from: 'All' } } : {}),
      experts: [{ name: 'gen', role: 'Generalist', engine: { type, api } }],
      ...(credentials.length > 0 && { credentials }),
      ...git.policy,
      workers: { replicas: 1 },
    },
  };
}

/** Returns the contents of the Secrets, by their names. */
async function tokensOf(context: CommandContext, flags: InitFlags): Promise<ReadonlyMap<string, string>> {
  const { name, git, key = true, keyFile, keyEnv, gitKeyFile, gitKeyEnv } = flags;
  if (!key && (keyFile ?? keyEnv) !== undefined) throw new CliError('--no-key and a key do not go together; leave one out');
  const tokens = new Map<string, string>();
  if (key)
    tokens.set(`${name}-key`, await secretOf(context, { what: 'Key of the endpoint', flag: '--key', file: keyFile, variable: keyEnv }));
  const token = { what: 'Token of the Git server', flag: '--git-key', file: gitKeyFile, variable: gitKeyEnv } as const;
  if (git !== undefined) tokens.set(`${name}-git`, await secretOf(context, token));
  return tokens;
}

interface Tried {
  readonly endpoint: string;
  readonly model: string;
  readonly key: string;
  readonly type: EndpointType;
}

/** Prints what the endpoint itself says of address, key and name; a fault ends nothing, as the cluster may see another one. */
async function tried({ fetch, signal, print, warn }: CommandContext, { endpoint, type, ...rest }: Tried): Promise<void> {
  if (fetch === undefined) return;
  const finding = await findingOf(fetch, { url: endpointOf(endpoint, type), type, ...rest }, signal);
  if (finding !== undefined) (finding.isFault ? warn : print)(finding.text);
}

/** Makes a Secret with the key of an endpoint, and a pool that uses it. */
export async function init(context: CommandContext, flags: InitFlags): Promise<void> {
  const { transport, namespace, signal, print } = context;
  const endpoint = await answered(context, flags.endpoint, 'Base URL of the model, such as https://llm.example.com/v1', '--endpoint');
  const model = await answered(context, flags.model, 'Name of the model at that endpoint', '--model');
  const pool = firstPool(endpoint, model, flags, namespace);
  if (flags.dryRun === true) {
    for (const line of await objectLines(pool, 'yaml')) print(line);
    return;
  }
  const pools = new ResourceClient(transport, expertPools);
  if ((await pools.find({ namespace, name: flags.name }, { signal })) !== undefined)
    throw new CliError(`there is an ExpertPool ${flags.name} in namespace ${namespace}; choose another --name, or delete it`);
  const tokens = await tokensOf(context, flags);
  const written = { fieldManager: 'fleet', signal };
  try {
    for (const [name, token] of tokens)
      await new ResourceClient(transport, secrets).apply(
        { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData: { token } },
        written,
      );
    await pools.apply(pool, written);
  } catch (error) {
    if (isNotFound(error) && (error as Error).message.includes(`"${namespace}"`))
      throw new CliError(`there is no namespace ${namespace}; make it with "kubectl create namespace ${namespace}"`);
    throw error;
  }
  for (const name of tokens.keys()) print(`Secret ${namespace}/${name} is written`);
  print(`ExpertPool ${namespace}/${flags.name} is written`);
  await tried(context, { endpoint, model, key: tokens.get(`${flags.name}-key`) ?? '', type: flags.type });
  print(`wait until it is ready: kubectl -n ${namespace} wait --for=condition=Ready expertpool/${flags.name} --timeout=5m`);
  const back = flags.git === undefined ? '' : '--pull-request --credential git ';
  print(`then: fleet run -n ${namespace} --from . --check 'npm test' ${back}'Make the failing tests pass.'`);
}
