/**
 * The world outside of the fleet, in a pod: a scripted model (OpenAI chat API) and an MCP server whose one tool writes into a ledger.
 * Both remember nothing of a conversation; what was done twice stands in the ledger twice. Arguments: a folder, the key of the model.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { json } from 'node:stream/consumers';
import { sendMessage, type ChatAsked } from '../programs/model.ts';
import { caseIn, nextCall } from './tasks.ts';

const [, key = ''] = process.argv.slice(2);
const port = 8080;
/** Number of times that each entry was made. */
const entries = new Map<string, number>();
let answered = 0;

function mcpServer(): Server {
  const made = new Server({ name: 'ledger', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = { type: 'object' as const, properties: { entry: { type: 'string' } }, required: ['entry'] };
  made.setRequestHandler('tools/list', () => ({ tools: [{ name: 'record', description: 'Writes an entry.', inputSchema }] }));
  made.setRequestHandler('tools/call', ({ params }) => {
    const entry = String(params.arguments?.['entry']);
    entries.set(entry, (entries.get(entry) ?? 0) + 1);
    return { content: [{ type: 'text', text: 'written' }] };
  });
  return made;
}

function answerTo({ messages }: Pick<ChatAsked, 'messages'>): object {
  const made = messages.reduce((sum, { tool_calls: calls = [] }) => sum + calls.length, 0);
  const drawn = caseIn(JSON.stringify(messages));
  const call = drawn === undefined ? undefined : nextCall(drawn, made);
  if (call === undefined) return { role: 'assistant', content: 'Done.' };
  const asked = { id: `call_${made}`, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } };
  return { role: 'assistant', content: 'I go on.', tool_calls: [asked] };
}

async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = (await json(request)) as ChatAsked;
  if (request.headers.authorization !== `Bearer ${key}`) {
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: 'no such key' } }));
    return;
  }
  answered += 1;
  sendMessage(response, answerTo(asked), asked.stream === true);
}

const mcp = toNodeHandler(createMcpHandler(mcpServer));
createServer((request, response) => {
  if (request.url === '/mcp') void mcp(request as never, response);
  else if (request.url === '/ledger') response.end(JSON.stringify({ answered, entries: Object.fromEntries(entries) }));
  else chat(request, response).catch(() => response.destroy());
}).listen(port, '::');
