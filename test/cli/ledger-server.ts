import { createPrivateKey } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { Test } from 'tap'
import { leafList } from '../../src/verifier/check/leaf-list.ts'
import { readNdjson } from '../../src/verifier/export/ndjson.ts'
import type { Hash } from '../../src/verifier/hashes.ts'
import { checkpointBody } from '../../src/verifier/note/checkpoint.ts'
import { signerOf, signNote } from '../../src/verifier/note/signatures.ts'
import { vkeyOf } from '../../src/verifier/note/vkey.ts'
import { base64Of } from '../../src/verifier/platform.ts'
import { rootAt } from '../../src/verifier/proof/proofs.ts'
import { hasTile, parseTilePath } from '../../src/verifier/tiles.ts'

export const ORIGIN = 'rollcall.example/audit/v1/ledger/0a1b2c3d'
const LEDGER = '/audit/v1/ledger'

/** Signs with the Ed25519 key of a seed of 32 equal bytes. */
export const signerWith = (byte: number, origin = ORIGIN) =>
  signerOf(
    origin,
    createPrivateKey({
      key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, byte)]),
      format: 'der',
      type: 'pkcs8',
    }),
  )
export const SIGNER = signerWith(7)
export const VKEY = vkeyOf(SIGNER.key)

/** A ledger over a list of leaves that a test fills, signed with one key. */
export const testLedger = () => {
  let leaves = leafList()
  return {
    /** Replaces the leaves. */
    fill: (all: Iterable<Hash>) => {
      leaves = leafList()
      for (const leaf of all) leaves.add(leaf)
    },
    leaves: () => leaves,
    checkpoint: async (size = leaves.size, signers = [SIGNER]) =>
      signNote(checkpointBody({ origin: ORIGIN, size, root: await rootAt(size, leaves.nodes) }), signers),
    hashes: (size = leaves.size) =>
      Array.from({ length: size }, (_, n) => `${base64Of(leaves.bytes().subarray(32 * n, 32 * n + 32))}\n`).join(''),
  }
}
type TestLedger = ReturnType<typeof testLedger>

/** Bytes of a tile; undefined if the tree does not have it. */
const tileOf = async ({ leaves }: TestLedger, path: string): Promise<Buffer | undefined> => {
  const tile = parseTilePath(path)
  const { size, nodes } = leaves()
  if (!tile || tile.level === 'entries' || !hasTile(size, tile)) return undefined
  const level = 8 * tile.level
  return Buffer.concat(
    await nodes(Array.from({ length: tile.width }, (_, n) => ({ level, index: 256 * tile.index + n }))),
  )
}

/** A proxy of a service that also has the routes of a ledger over its events. */
export const ledgerServer = async (t: Test, service: { readonly url: string; readonly token: string }) => {
  const ledger = testLedger()
  const authorization = `Bearer ${service.token}`
  let afterBytes = Infinity
  let onHeld: (() => void) | undefined
  const refill = async () => {
    const answer = await fetch(`${service.url}/audit/v1/events?format=ndjson`, { headers: { authorization } })
    const { lines } = readNdjson(Buffer.from(await answer.arrayBuffer()))
    ledger.fill(lines.map((line) => line!.leaf))
  }
  const ofLedger = async (method: string, path: string): Promise<Buffer | object | undefined> => {
    if (path === '') return { ledger: '0a1b2c3d', origin: ORIGIN, keys: [{ vkey: VKEY, since: '' }] }
    if (path === '/checkpoint' && method === 'POST') {
      await refill()
      return { text: await ledger.checkpoint() }
    }
    if (path === '/checkpoint') return Buffer.from(await ledger.checkpoint())
    return tileOf(ledger, path.slice(1))
  }
  const passOn = async ({ method = '', url = '' }: IncomingMessage, response: ServerResponse) => {
    const answer = await fetch(service.url + url, { method, headers: { authorization } })
    const headers = ['content-type', 'history-range'].flatMap((name) => {
      const value = answer.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    response.writeHead(answer.status, Object.fromEntries(headers))
    if (!answer.body) return response.end()
    for await (const chunk of Readable.fromWeb(answer.body as never)) {
      if ((chunk as Buffer).length > afterBytes) {
        response.write((chunk as Buffer).subarray(0, afterBytes))
        afterBytes = Infinity
        if (onHeld) return void setImmediate(onHeld)
        return setImmediate(() => response.destroy())
      }
      afterBytes -= (chunk as Buffer).length
      response.write(chunk)
    }
    return response.end()
  }
  const server = createServer((request, response) => {
    const { url = '', method = '' } = request
    if (!url.startsWith(LEDGER)) return void passOn(request, response).catch(() => response.destroy())
    void ofLedger(method, url.slice(LEDGER.length)).then((found) => {
      if (found === undefined) response.writeHead(404).end('{"message":"resource not found"}')
      else if (Buffer.isBuffer(found)) response.end(found)
      else response.setHeader('content-type', 'application/json').end(JSON.stringify(found))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    ledger,
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Cuts the next stream after so many bytes. */
    cutAfter: (bytes: number) => {
      onHeld = undefined
      afterBytes = bytes
    },
    /** Sends no more than so many bytes of the next stream; resolves when they are sent. */
    heldAfter: (bytes: number) => {
      afterBytes = bytes
      return new Promise<void>((held) => (onHeld = held))
    },
  }
}
