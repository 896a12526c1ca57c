import { expertsAudience } from '@agentfleet/protocol/tokens';
import type { Kubectl } from './kubectl.ts';

/**
 * Returns a token that experts and verifiers of a namespace accept, in the name of the operator in its namespace; valid
 * for an hour.
 */
export function expertsToken(kubectl: Kubectl, system: string, namespace: string): Promise<string> {
  const audience = `--audience=${expertsAudience(namespace)}`;
  return kubectl.text(['-n', system, 'create', 'token', 'agentfleet-operator', audience, '--duration=1h']).then((text) => text.trim());
}
