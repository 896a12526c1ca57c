import { compareVersions, controllerReference, isAlreadyExists, isConflict, isNotFound, ResourceClient } from '@agentfleet/kube';
import type { Informer, KubeObject, Transport } from '@agentfleet/kube';
import { fieldManagers } from '@agentfleet/protocol/api';
import type { ConfigMap } from '../runtime/objects.ts';
import { resources } from '../runtime/resources.ts';
import { countLedger, ledgerOf, ledgerText, type Ledger, type Sample } from './ledger.ts';

/** Whose ledger it is, and its name and labels. */
export interface LedgerPlace {
  readonly owner: KubeObject;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Known {
  readonly uid: string | undefined;
  readonly version: string | undefined;
  readonly data: ConfigMap['data'];
  /** The ledger in it that was read last. */
  readonly ledger: Ledger | undefined;
}

/**
 * Keeps the books of rollouts, each in one ConfigMap: the sums and who is in them change in one write, which holds for one
 * version only. So no task counts twice, whoever crashes and whatever a cache shows.
 */
export class LedgerWriter {
  readonly #client: ResourceClient<ConfigMap>;
  readonly #cache: Informer<ConfigMap>;
  readonly #known = new Map<string, Known>();

  constructor(transport: Transport, cache: Informer<ConfigMap>) {
    this.#client = new ResourceClient(transport, resources.configMaps);
    this.#cache = cache;
  }

  /** The book of a rollout as far as it is known to be written. */
  read(place: LedgerPlace, rollout: string): Ledger {
    const known = this.#newest(place);
    if (known.ledger?.rollout === rollout) return known.ledger;
    const ledger = ledgerOf(known.data, rollout);
    this.#known.set(keyOfPlace(place), { ...known, ledger });
    return ledger;
  }

  /** Another text in the book, as far as it is known to be written; undefined when there is none. */
  text(place: LedgerPlace, name: string): string | undefined {
    return this.#newest(place).data?.[name];
  }

  /** Writes another text into the book. False: somebody else wrote; it has to be tried again. */
  async write(place: LedgerPlace, name: string, text: string, signal: AbortSignal): Promise<boolean> {
    return this.#change(place, { [name]: text }, this.#newest(place).ledger, signal);
  }

  /** Adds samples. False: somebody else wrote; it has to be tried again. */
  async count(place: LedgerPlace, rollout: string, samples: readonly Sample[], signal: AbortSignal): Promise<boolean> {
    const before = this.read(place, rollout);
    const ledger = countLedger(before, samples);
    if (ledger === before) return true;
    return this.#change(place, ledgerText(ledger), ledger, signal);
  }

  #newest(place: LedgerPlace): Known {
    const key = keyOfPlace(place);
    const known = this.#known.get(key);
    const cached = this.#cache.lister.get(key);
    if (known !== undefined && !isNewer(cached, known)) return known;
    const { uid, resourceVersion: version } = cached?.metadata ?? {};
    const newest = { uid, version, data: cached?.data, ledger: undefined };
    this.#known.set(key, newest);
    return newest;
  }

  /** `ledger`: the one in the book afterwards. */
  async #change(
    place: LedgerPlace,
    change: Readonly<Record<string, string>>,
    ledger: Ledger | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const key = keyOfPlace(place);
    const known = this.#known.get(key);
    try {
      const written = await this.#write(place, known, change, signal);
      const { uid, resourceVersion: version } = written.metadata;
      this.#known.set(key, { uid, version, data: written.data, ledger });
      return true;
    } catch (error) {
      this.#known.delete(key);
      if (isNotFound(error)) return false;
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      await this.#readLive(place, signal);
      return false;
    }
  }

  /** Somebody else wrote and the cache may not show it for long: only the server knows what stands there now. */
  async #readLive(place: LedgerPlace, signal: AbortSignal): Promise<void> {
    const namespace = place.owner.metadata.namespace ?? '';
    const live = await this.#client.find({ namespace, name: place.name }, { signal });
    if (live === undefined) return;
    const { uid, resourceVersion: version } = live.metadata;
    this.#known.set(keyOfPlace(place), { uid, version, data: live.data, ledger: undefined });
  }

  #write({ owner, name, labels }: LedgerPlace, known: Known | undefined, data: Readonly<Record<string, string>>, signal: AbortSignal) {
    const namespace = owner.metadata.namespace ?? '';
    const fieldManager = fieldManagers.operator;
    if (known?.version === undefined) {
      const metadata = { name, namespace, labels, ownerReferences: [controllerReference(owner)] };
      return this.#client.create({ metadata, data }, { fieldManager, signal });
    }
    const precondition = { resourceVersion: known.version, ...(known.uid === undefined ? {} : { uid: known.uid }) };
    return this.#client.patch({ namespace, name }, { metadata: precondition, data }, { fieldManager, signal });
  }
}

const keyOfPlace = ({ owner, name }: LedgerPlace): string => `${owner.metadata.namespace ?? ''}/${name}`;

/** Whether the cache shows what is newer than what we know; gone counts as newer when we knew of one. */
function isNewer(cached: ConfigMap | undefined, { uid, version }: Known): boolean {
  if (cached === undefined) return version === undefined;
  if (version === undefined || cached.metadata.uid !== uid) return true;
  const order = compareVersions(cached.metadata.resourceVersion, version);
  return order === undefined || order > 0;
}
