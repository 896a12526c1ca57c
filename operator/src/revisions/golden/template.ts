import { asError, ResourceClient, type Clock, type Log, type Transport } from '@agentfleet/kube';
import type { PodTemplate } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { shortHash } from '../revision.ts';

/** A template with containers, and the hash of its content. */
export interface GoldenTemplate {
  readonly content: NonNullable<PodTemplate['template']>;
  readonly hash: string;
  /** Name of the container that says the result. */
  readonly container: string;
}

/** What was found under a name, or why it is of no use. */
export type FoundTemplate = GoldenTemplate | { readonly fault: string };

/** Ms for which an answer is believed. */
const freshMs = 5_000;

interface Known {
  readonly found: FoundTemplate;
  readonly at: number;
}

/** What a PodTemplate is worth. Pure. */
export function templateOf(name: string, object: PodTemplate | undefined): FoundTemplate {
  if (object === undefined)
    return { fault: `there is no PodTemplate ${name} in the namespace; create it, or correct goldenSet.templateRef` };
  const [first] = object.template?.spec?.containers ?? [];
  if (object.template === undefined || first === undefined)
    return { fault: `PodTemplate ${name} has no container; give it one that runs the set` };
  return { content: object.template, hash: shortHash(object.template, 16), container: first.name };
}

/**
 * Reads PodTemplates by name. They are people's, and there may be any number of them, so no cache holds them: they are
 * asked for, and the answer is believed for a while.
 */
export class TemplateReader {
  readonly #client: ResourceClient<PodTemplate>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #known = new Map<string, Known>();

  constructor({ transport, clock, log }: { readonly transport: Transport; readonly clock: Clock; readonly log: Log }) {
    this.#client = new ResourceClient(transport, resources.podTemplates);
    this.#clock = clock;
    this.#log = log;
  }

  /** Rejects with the signal's reason and nothing else. */
  async read(namespace: string, name: string, signal: AbortSignal): Promise<FoundTemplate> {
    const key = `${namespace}/${name}`;
    const now = this.#clock.monotonic();
    for (const [other, { at }] of this.#known) if (other !== key && now - at >= 2 * freshMs) this.#known.delete(other);
    const known = this.#known.get(key);
    if (known !== undefined && now - known.at < freshMs) return known.found;
    const found = await this.#ask(namespace, name, known?.found, signal);
    this.#known.set(key, { found, at: now });
    return found;
  }

  /** An answer that fails is no other content than before. */
  async #ask(namespace: string, name: string, before: FoundTemplate | undefined, signal: AbortSignal): Promise<FoundTemplate> {
    try {
      return templateOf(name, await this.#client.find({ namespace, name }, { signal }));
    } catch (error) {
      signal.throwIfAborted();
      const { message } = asError(error);
      this.#log.warn('a PodTemplate cannot be read', { namespace, name, error: message });
      return before ?? { fault: `PodTemplate ${name} cannot be read: ${message}; it is asked for again` };
    }
  }
}
