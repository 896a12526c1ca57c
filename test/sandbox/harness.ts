import { jwksConfigMap } from '@agentfleet/operator/sandbox';
import { randomBytes } from 'node:crypto';
import { TestRunner, afterAll, beforeAll, beforeEach, inject, onTestFinished } from 'vitest';
import type { ExecRequest } from '@agentfleet/protocol/keeper';
import { accessEnvironment, expertsAudience, keysDir, serviceAccountSubject } from '@agentfleet/protocol/tokens';
import { newExecId, type ExecResult } from '@agentfleet/keeper/client';
import {
  deleteNamespace,
  Kubectl,
  openSandbox,
  prepareNamespace,
  workerServiceAccount,
  type Sandbox,
  type SandboxOptions,
} from '../../hack/sandbox/index.ts';

/** A namespace of this test file on the real cluster, and the sandboxes in it. */
export interface Bench {
  readonly kubectl: Kubectl;
  readonly namespace: string;
  readonly issuer: string;
  open(options?: Partial<SandboxOptions>): Promise<Sandbox>;
  /**
   * Opens the sandbox that the tests of a file share, and passes it to `use`. A retried test gets a new one, and so do
   * those after it: leftovers of its first try (a running command, files, candidates that no attempt tries twice) would
   * fail the second one, too.
   */
  share(use: (sandbox: Sandbox) => unknown, options?: Partial<SandboxOptions>): void;
}

/** A Kubectl for the cluster that the global set-up raised. */
export function clusterKubectl(): Kubectl {
  const environment = inject('environment');
  return new Kubectl({ kubeconfig: environment.kubeconfig, context: environment.context, bin: (name) => environment.bins[name] ?? name });
}

/** Registers a namespace for the calling test file; it is deleted at the end. Read the result inside tests only. */
export function useNamespace(prefix: string, level?: Parameters<typeof prepareNamespace>[2]): Bench {
  const environment = inject('environment');
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
  const create = (options: Partial<SandboxOptions>): Promise<Sandbox> => {
    const { images, direct } = environment;
    const own = { sandboxImage: images['sandbox'] ?? '', toolsImage: images['tools'] ?? '' };
    return openSandbox(kubectl, { namespace, issuer, direct, ...own, ...options });
  };
  const leave = (sandbox: Sandbox): void => void closing.push(sandbox.close({ wait: false }).catch(() => undefined));
  return {
    kubectl,
    namespace,
    get issuer() {
      return issuer;
    },
    async open(options = {}) {
      const sandbox = await create(options);
      // A sandbox that a test opened for itself is removed with that test: files run side by side, and a node is small.
      if (TestRunner.getCurrentTest() === undefined) open.push(sandbox);
      else onTestFinished(() => leave(sandbox));
      return sandbox;
    },
    share(use, options = {}) {
      let shared: Sandbox | undefined;
      const renew = async (): Promise<void> => {
        const sandbox = await create(options);
        if (shared !== undefined) leave(shared);
        shared = sandbox;
        await use(sandbox);
      };
      beforeAll(renew);
      beforeEach(({ task }) => ((task.result?.retryCount ?? 0) > 0 ? renew() : undefined));
      afterAll(() => (shared === undefined ? undefined : leave(shared)));
    },
  };
}

/** Returns settings by which an inference server in a pod of the bench authenticates its callers, like the operator's. */
export function inferenceAccess({ namespace, issuer }: Bench) {
  const env = {
    [accessEnvironment.issuer]: issuer,
    [accessEnvironment.audience]: expertsAudience(namespace),
    [accessEnvironment.callers]: serviceAccountSubject(namespace, workerServiceAccount),
  };
  return {
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    volumes: [{ name: 'jwks', configMap: { name: jwksConfigMap } }],
    volumeMounts: [{ name: 'jwks', mountPath: keysDir, readOnly: true }],
  };
}

/** The header of one of those callers. */
export async function inferenceBearer({ kubectl, namespace }: Bench): Promise<{ readonly authorization: string }> {
  const audience = `--audience=${expertsAudience(namespace)}`;
  const token = await kubectl.text(['-n', namespace, 'create', 'token', workerServiceAccount, audience]);
  return { authorization: `Bearer ${token.trim()}` };
}

/** Runs a shell command in the user's container and returns its outputs and end. */
export function shell(sandbox: Sandbox, command: string, more: Partial<ExecRequest> = {}): Promise<ExecResult> {
  return sandbox.client.run({ execId: newExecId(), tool: 'Shell', command, ...more } as ExecRequest);
}

/** Deadlines of waiting are those of an idle machine of four cores; a busy one of two may take this many times as long. */
const slowFactor = 4;

/** Waits until `condition` holds, checking every 200 ms; throws with `what` after `seconds` on an idle machine. */
export async function eventually(what: string, seconds: number, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + slowFactor * seconds * 1000;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`not within ${slowFactor} × ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
