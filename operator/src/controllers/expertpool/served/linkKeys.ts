import { isAlreadyExists, isNotFound, ResourceClient, type KubeObject, type Transport } from '@agentfleet/kube';
import { fieldManagers } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { type Namespace, resources } from '../../../runtime/resources.ts';
import { linkSecret } from '../../agenttask/attempts.ts';

/** `v1.Secret` as it is written; it is never read. */
interface LinkSecret extends KubeObject {
  readonly type?: 'Opaque';
  readonly immutable?: true;
  readonly stringData?: Readonly<Record<string, string>>;
}

/**
 * The key by which keepers and runners of a namespace recognise each other. The operator makes it and cannot read it: one
 * that is there stays, and after a start each is made sure of once.
 */
export class LinkKeys {
  readonly #secrets: ResourceClient<LinkSecret>;
  readonly #newKey: () => string;
  /** Uids of the namespaces that have one, by their names. */
  readonly #known = new Map<string, string | undefined>();

  /** `newKey`: unguessable, ≥ 32 characters. */
  constructor(transport: Transport, newKey: () => string) {
    this.#secrets = new ResourceClient<LinkSecret>(transport, resources.secrets);
    this.#newKey = newKey;
  }

  /** Resolves when the namespace has a key. */
  async ensure({ metadata: { name: namespace, uid } }: Namespace, signal: AbortSignal): Promise<void> {
    if (this.#known.has(namespace) && this.#known.get(namespace) === uid) return;
    const { apiVersion, kind } = resources.secrets;
    const metadata = { name: linkSecret.name, namespace, labels: { [labels.component]: 'sandbox' } };
    const secret: LinkSecret = {
      apiVersion,
      kind,
      metadata,
      type: 'Opaque',
      immutable: true,
      stringData: { [linkSecret.key]: this.#newKey() },
    };
    try {
      await this.#secrets.create(secret, { fieldManager: fieldManagers.operator, signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    this.#known.set(namespace, uid);
  }

  /** Deletes the key of a namespace without sandboxes. */
  async remove(namespace: string, signal: AbortSignal): Promise<void> {
    this.#known.delete(namespace);
    try {
      await this.#secrets.delete({ name: linkSecret.name, namespace }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** The namespace is gone, or what else it holds for sandboxes: perhaps its key with it. */
  forget(namespace: string): void {
    this.#known.delete(namespace);
  }
}
