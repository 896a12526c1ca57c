import type { ChatEndpoint, Expert } from '@agentfleet/protocol/api';

/** The server behind an API that an expert names; undefined: it is no such expert. */
export function endpointOf({ engine }: Pick<Expert, 'engine'>): ChatEndpoint | undefined {
  if (engine.type === 'OpenAI') return engine.openAI;
  return engine.type === 'Anthropic' ? engine.anthropic : undefined;
}

/** Names of the credentials that the gateway of a pool holds, and no worker. */
export function gatewayCredentials(experts: readonly Expert[]): ReadonlySet<string> {
  return new Set(experts.flatMap((expert) => endpointOf(expert)?.credential ?? []));
}
