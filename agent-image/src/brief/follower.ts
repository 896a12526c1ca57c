import { coded } from '@agentfleet/protocol/log';
import { Ajv } from 'ajv';
import { briefKey, PoolBrief } from '@agentfleet/protocol/pool';
import { type ConfigMap, resources } from '../base/resources.ts';
import { jsonIn } from '../base/text.ts';
import { Informer, type Clock, type Log, type Random, type Transport } from '@agentfleet/kube';

/** A brief, or one sentence with its fault and the cure. */
type ParsedBrief = { readonly brief: PoolBrief } | { readonly problem: string };

const cure = 'the operator writes it; look at the status of the ExpertPool';

/** Makes the function that reads a brief from its ConfigMap; compiling the schema is done once. */
export function briefParser(): (configMap: ConfigMap) => ParsedBrief {
  const validate = new Ajv({ strict: false, allErrors: false }).compile<PoolBrief>(PoolBrief);
  return (configMap) => {
    const text = configMap.data?.[briefKey];
    const where = `ConfigMap ${configMap.metadata.namespace ?? ''}/${configMap.metadata.name}`;
    if (text === undefined) return { problem: `${where} has no key ${briefKey}; ${cure}` };
    const value = jsonIn(text);
    if (value === undefined) return { problem: `${briefKey} of ${where} is not JSON; ${cure}` };
    if (validate(value)) return { brief: value };
    const [error] = validate.errors ?? [];
    return { problem: `${briefKey} of ${where} is not a brief: ${error?.instancePath || '/'} ${error?.message ?? ''}; ${cure}` };
  };
}

interface BriefFollowerOptions {
  readonly transport: Transport;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Follows the pool's brief. One that cannot be read, or is gone, leaves the last good one in force. */
export class BriefFollower {
  readonly #log: Log;
  readonly #informer: Informer<ConfigMap>;
  readonly #parse = briefParser();
  readonly #listeners = new Set<(brief: PoolBrief) => void>();
  #current: PoolBrief | undefined;
  #problem: string | undefined = 'the brief was not read yet';

  constructor({ name, ...options }: BriefFollowerOptions) {
    this.#log = options.log;
    this.#informer = new Informer({ ...options, resource: resources.configMaps, fieldSelector: `metadata.name=${name}` });
    this.#informer.addHandler({
      onAdd: (configMap) => this.#read(configMap),
      onUpdate: (_, configMap) => this.#read(configMap),
      onDelete: () => this.#refuse(`ConfigMap ${options.namespace}/${name} was deleted; the operator makes it again`),
    });
  }

  get current(): PoolBrief | undefined {
    return this.#current;
  }

  /** Fault of the newest brief; undefined when it is in force. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Reported of each good brief, and of the one in force at once. */
  onChange(listener: (brief: PoolBrief) => void): void {
    this.#listeners.add(listener);
    if (this.#current !== undefined) listener(this.#current);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  /** Resolves with the first good brief; with undefined when the signal is aborted before. */
  first(signal: AbortSignal): Promise<PoolBrief | undefined> {
    return new Promise((resolve) => {
      const stop = (): void => resolve(this.#current);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      this.onChange((brief) => {
        signal.removeEventListener('abort', stop);
        resolve(brief);
      });
    });
  }

  #read(configMap: ConfigMap): void {
    const parsed = this.#parse(configMap);
    if ('problem' in parsed) {
      this.#refuse(parsed.problem);
      return;
    }
    this.#problem = undefined;
    this.#current = parsed.brief;
    this.#log.info('brief in force', { pool: parsed.brief.pool.name, namespaces: parsed.brief.namespaces.length });
    for (const listener of this.#listeners) listener(parsed.brief);
  }

  #refuse(problem: string): void {
    this.#problem = problem;
    this.#log.error(this.#current === undefined ? 'no brief' : 'the former brief stays in force', coded('AF_BRIEF_INVALID', { problem }));
  }
}
