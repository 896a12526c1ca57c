import { createTransport, Informer, kubeconfigConfig, silentLog, systemClock, type KubeObject, type Resource } from '@agentfleet/kube';

/** All events of the objects of one collection, in order. */
export class History<T extends KubeObject> {
  readonly states: T[] = [];
  readonly deleted: T[] = [];
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** Begins to record; resolves when existing objects are recorded. */
  static async of<T extends KubeObject>(
    resource: Resource<T>,
    where: { readonly kubeconfig: string; readonly context: string; readonly namespace: string },
  ): Promise<History<T>> {
    const history = new History<T>();
    const transport = createTransport(await kubeconfigConfig({ file: where.kubeconfig, context: where.context }), {
      userAgent: 'agentfleet-e2e',
    });
    const informer = new Informer<T>({
      transport,
      resource,
      namespace: where.namespace,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    });
    informer.addHandler({
      onAdd: (object) => history.states.push(object),
      onUpdate: (_, object) => history.states.push(object),
      onDelete: (object) => history.deleted.push(object),
    });
    history.#running = informer.run(history.#stop.signal).then(() => transport.close());
    await informer.waitForSync(30_000);
    return history;
  }

  /** States of one object by name. */
  named(name: string): readonly T[] {
    return this.states.filter(({ metadata }) => metadata.name === name);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
