// hack, sandbox: kubectl calls to one cluster. Imports operator, keeper's client and protocol.
import { execa, type ResultPromise } from 'execa';

/** Connection of a kubectl call to one cluster. */
export interface ClusterAccess {
  readonly kubeconfig: string;
  readonly context: string;
  bin(name: string): string;
}

/** kubectl against one cluster, with JSON in and out. Rejects with kubectl's own words. */
export class Kubectl {
  readonly access: ClusterAccess;

  constructor(access: ClusterAccess) {
    this.access = access;
  }

  /** Starts kubectl and returns the running process. */
  spawn(args: readonly string[], input?: string): ResultPromise {
    const { kubeconfig, context } = this.access;
    const base = [`--kubeconfig=${kubeconfig}`, `--context=${context}`];
    return execa(this.access.bin('kubectl'), [...base, ...args], input === undefined ? { stdin: 'ignore' } : { input });
  }

  async text(args: readonly string[], input?: string): Promise<string> {
    return String((await this.spawn(args, input)).stdout);
  }

  async json<T>(args: readonly string[]): Promise<T> {
    return JSON.parse(await this.text([...args, '-o', 'json'])) as T;
  }

  /** Applies objects by server-side apply; strict: an unknown field is an error. */
  async apply(...objects: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    await this.text(
      ['apply', '--server-side', '--force-conflicts', '--field-manager=agentfleet-hack', '--validate=strict', '-f', '-'],
      list,
    );
  }

  async waitReady(namespace: string, pod: string, seconds: number): Promise<void> {
    await this.text(['-n', namespace, 'wait', '--for=condition=Ready', `pod/${pod}`, `--timeout=${seconds}s`]);
  }
}
