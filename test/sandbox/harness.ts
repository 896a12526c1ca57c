import { randomBytes } from 'node:crypto';
import { TestRunner, afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import type { ExecRequest } from '@agentfleet/protocol/keeper';
import { newExecId, type ExecResult } from '@agentfleet/keeper/client';
import { deleteNamespace, Kubectl, openSandbox, prepareNamespace, type Sandbox, type SandboxOptions } from '../../hack/sandbox/index.ts';

/** A namespace of this test file on the real cluster, and the sandboxes in it. */
export interface Bench {
  readonly kubectl: Kubectl;
  readonly namespace: string;
  readonly issuer: string;
  open(options?: Partial<SandboxOptions>): Promise<Sandbox>;
}

/** A Kubectl for the cluster that the global set-up raised. */
export function clusterKubectl(): Kubectl {
  const ground = inject('ground');
  return new Kubectl({ kubeconfig: ground.kubeconfig, context: ground.context, bin: (name) => ground.bins[name] ?? name });
}

/** Registers a namespace for the calling test file; it is deleted at the end. Read the result inside tests only. */
export function useNamespace(prefix: string, level?: Parameters<typeof prepareNamespace>[2]): Bench {
  const ground = inject('ground');
  const kubectl = clusterKubectl();
  const namespace = `aft-${prefix}-${randomBytes(3).toString('hex')}`;
  const open: Sandbox[] = [];
  const closing: Promise<void>[] = [];
  let issuer = '';
  beforeAll(async () => {
    issuer = await prepareNamespace(kubectl, namespace, level);
  });
  afterAll(async () => {
    await Promise.allSettled([...closing, ...open.map((sandbox) => sandbox.close())]);
    await deleteNamespace(kubectl, namespace);
  });
  return {
    kubectl,
    namespace,
    get issuer() {
      return issuer;
    },
    async open(options = {}) {
      const { images, direct } = ground;
      const sandbox = await openSandbox(kubectl, {
        namespace,
        issuer,
        sandboxImage: images['sandbox'] ?? '',
        toolsImage: images['tools'] ?? '',
        direct,
        ...options,
      });
      // One that a test opened for itself leaves the node with that test: files run side by side, and a node is small.
      if (TestRunner.getCurrentTest() === undefined) open.push(sandbox);
      else onTestFinished(() => void closing.push(sandbox.close({ wait: false }).catch(() => undefined)));
      return sandbox;
    },
  };
}

/** Runs a shell command in the user's container and returns its outputs and end. */
export function shell(sandbox: Sandbox, command: string, more: Partial<ExecRequest> = {}): Promise<ExecResult> {
  return sandbox.client.run({ execId: newExecId(), tool: 'Shell', command, ...more } as ExecRequest);
}

/** Deadlines of waiting are those of an idle machine of four cores; a busy one of two may take this many times as long. */
const patience = 4;

/** Waits until `condition` holds, asking every 200 ms; throws with `what` after `seconds` on an idle machine. */
export async function eventually(what: string, seconds: number, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patience * seconds * 1000;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`not within ${patience} × ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
