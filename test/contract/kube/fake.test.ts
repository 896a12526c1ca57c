import { createTransport } from '@agentfleet/kube';
import { startFakeServer } from '@agentfleet/kube/testing';
import { widgets } from './environment.ts';
import { contractSuite } from './suite.ts';

contractSuite('the fake API server', async () => {
  const lists = { 'spec.parts': ['name'], 'status.conditions': ['type'] };
  const server = await startFakeServer({
    kinds: [{ resource: widgets, statusSubresource: true, generation: true, lists, selectableFields: ['spec.owner'] }],
  });
  const transport = createTransport(server.config, { userAgent: 'contract/1' });
  server.createNamespace('contract');
  return {
    transport,
    namespace: 'contract',
    close: async () => {
      await transport.close();
      await server.close();
    },
  };
});
