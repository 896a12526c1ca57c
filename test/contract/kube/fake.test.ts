import { createTransport } from '@agentfleet/kube';
import { startFakeServer } from '@agentfleet/kube/testing';
import { widgets } from './environment.ts';
import { contractSuite } from './suite.ts';

contractSuite('the fake API server', async () => {
  const lists = { 'spec.parts': ['name'], 'status.conditions': ['type'] };
  const definition = { resource: widgets, statusSubresource: true, generation: true, lists, selectableFields: ['spec.owner'] };
  const server = await startFakeServer({ kinds: [definition] });
  const transport = createTransport(server.config, { userAgent: 'contract/1' });
  server.createNamespace('contract');
  return {
    transport,
    namespace: 'contract',
    controllers: true,
    withdraw: () => Promise.resolve(server.removeKind(widgets)),
    define: () => Promise.resolve(server.addKind(definition)),
    close: async () => {
      await transport.close();
      await server.close();
    },
  };
});
