// hack, demo/sandbox/steps: chapter 1 of the demo, the isolation of a sandbox. May import any package.
import type { Story } from './story.ts';

/** A program that tries to connect and prints the outcome. */
const attempt = (host: string, port: number): string =>
  `import socket
s = socket.socket(); s.settimeout(2)
try: s.connect(("${host}", ${port})); print("connected")
except OSError as e: print("refused:", e)`;

/** Chapter 1: who may call, and what the sandbox keeps from the code inside it. */
export async function lookAround(story: Story): Promise<void> {
  story.chapter('1  The sandbox');
  const info = await story.client.info();
  story.fact(`pod ${info.pod.namespace}/${info.pod.name}, isolation ${info.isolation?.level}, Landlock ABI ${info.isolation?.landlockABI}`);
  story.prove('the network wall holds, seen from inside', info.network.state === 'Enforced', targets(info.network.targets));
  const anonymous = await fetch(new URL('/v1/info', story.baseUrl));
  story.prove('without a token the keeper answers 401', anonymous.status === 401);
  const target = info.network.targets[0]?.address ?? '192.0.2.1:443';
  const [host, port] = splitAddress(target);
  const out = await story.shell('python3 -', attempt(host, Number(port)));
  story.prove('user code cannot reach the API server', out.stdout.startsWith('refused'), out.stdout.trim());
  const secrets = await story.shell('cat /var/run/secrets/kubernetes.io/serviceaccount/token; ls /var/lib/agentfleet; cat /proc/1/environ');
  story.prove('no Kubernetes token, no store, no environment of the runner', secrets.stdout === '', `${lines(secrets.stderr)} refusals`);
  await story.shell('kill -9 -1; kill -9 1');
  const after = await story.client.info();
  story.prove('kill -9 at everything leaves runner and keeper alone', after.tools.instance === info.tools.instance);
}

function targets(list: readonly { name: string; error: string | null }[]): string {
  return list.map((target) => `${target.name} ${target.error ?? 'open'}`).join(', ');
}

function splitAddress(address: string): readonly [string, string] {
  const at = address.lastIndexOf(':');
  return [address.slice(0, at), address.slice(at + 1)];
}

function lines(text: string): number {
  return text.trim().split('\n').length;
}
