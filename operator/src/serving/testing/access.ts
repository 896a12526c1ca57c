import { operatorSubject, type ClusterAccess } from '../access.ts';

/** What servers of tests check tokens by. */
export const testAccess: ClusterAccess = {
  issuer: 'https://cluster.test',
  jwks: '{"keys":[]}',
  operator: operatorSubject('agentfleet-system'),
  metricsReaders: ['system:serviceaccount:agentfleet-system:agentfleet-metrics'],
};
