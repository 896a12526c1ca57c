import { inject } from 'vitest';
import { storageOf, type Fleet } from './fleet.ts';
import { credentialOf, type Provider, startProvider as start } from '../provider/provider.ts';

export { apiOf, recordedServer } from '../provider/provider.ts';

/** Starts a provider in a pod of the fleet's namespace, and writes the key into the Secret that pools name. */
export const startProvider = ({ kubectl, namespace }: Fleet, provider: Provider): Promise<void> =>
  start({ kubectl, namespace, image: inject('fleet').images['agent'] ?? '' }, provider);

/** Makes a pool with experts that ask this provider, and waits for it. */
export async function providerPool(fleet: Fleet, name: string, spec: object): Promise<void> {
  const { storage, credentials } = storageOf();
  await fleet.apply('ExpertPool', name, { storage, credentials: [...credentials, credentialOf(fleet)], ...spec });
  await fleet.run('wait', '--for=condition=Ready', `expertpool/${name}`, '--timeout=400s');
}
