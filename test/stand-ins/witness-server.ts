import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { WitnessAnswer, WitnessRequest } from './witness.ts'

/** Serves handlers of requests on a loopback port. A handler may answer by itself and return nothing. */
export const serveWitness = async (
  t: Test,
  handle: (request: WitnessRequest, response: ServerResponse) => WitnessAnswer | undefined,
): Promise<string> => {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += String(chunk)))
    request.on('end', () => {
      const answer = handle({ method: request.method!, path: request.url!, body }, response)
      if (answer) response.writeHead(answer.status, { 'content-type': answer.contentType }).end(answer.text)
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise((closed) => server.close(closed))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
