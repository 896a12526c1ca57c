import { operatorSubject, type ClusterAccess } from '../access.ts';

/** Data by which servers of tests check tokens. */
export const testAccess: ClusterAccess = {
  issuer: 'https://cluster.test',
  jwks: '{"keys":[]}',
  operator: operatorSubject('agentfleet-system'),
  metricsReaders: ['system:serviceaccount:agentfleet-system:agentfleet-metrics'],
};
