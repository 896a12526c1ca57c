import type { FastifyInstance } from 'fastify';
import { secretBounds, type SecretsDeclared, type SecretsRequest } from '@agentfleet/protocol/keeper';
import type { Keeper } from '../keeper/keeper.ts';
import type { Validators } from './validation.ts';

const bodyLimit = 2 * 6 * secretBounds.count * secretBounds.maxChars;

/** Values that no answer may show. They are kept in memory: after a restart of the keeper they are declared again. */
export function secretRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { fence, log, redaction } = keeper.parts;

  const declare = async (secrets: SecretsRequest['secrets'], epoch: number): Promise<SecretsDeclared> => {
    fence.assert(epoch);
    redaction.secrets.replace(secrets);
    const names = secrets.map(({ name }) => name);
    await log.commit('SecretsDeclared', { names });
    return { declared: secrets.length };
  };

  app.put('/secrets', { bodyLimit }, ({ body, epoch }) => declare(validators.secrets(body).secrets, epoch));
}
