import { expertsAudience } from '@agentfleet/protocol/tokens';
import type { Kubectl } from './kubectl.ts';

/** A token by which experts and verifiers of a namespace let in, in the name of the operator in its namespace; good for an hour. */
export function expertsToken(kubectl: Kubectl, system: string, namespace: string): Promise<string> {
  const audience = `--audience=${expertsAudience(namespace)}`;
  return kubectl.text(['-n', system, 'create', 'token', 'agentfleet-operator', audience, '--duration=1h']).then((text) => text.trim());
}
