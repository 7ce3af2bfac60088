import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { generate } from 'selfsigned'
import t from 'tap'
import { bind, openPort } from '../../src/http/wire/port.ts'

const patience = { every: 250, looks: 8 }
const MIB = 1_048_576
const ANSWER = 48 * MIB

for (const protocol of ['http', 'https'] as const) {
  await t.test(protocol, async (t) => {
    const pair = await generate([{ name: 'commonName', value: 'localhost' }])
    const tls = { key: pair.private, cert: pair.cert }
    const opened = openPort(
      { headersTimeout: 5000, requestTimeout: 10_000, ...(protocol === 'https' && { tls }) },
      patience,
    )
    const { server, sockets } = opened
    const large = 'x'.repeat(ANSWER)
    server.on('request', ({ url }, response) => response.end(url === '/large' ? large : 'small'))
    await bind(opened, { host: '127.0.0.1', port: 0, choose: { host: '', port: '' } })
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo

    const open = async (): Promise<Socket> => {
      const socket =
        protocol === 'https'
          ? connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false })
          : connect({ host: '127.0.0.1', port })
      socket.on('error', () => undefined)
      await new Promise((ready) => socket.once(protocol === 'https' ? 'secureConnect' : 'connect', ready))
      t.teardown(() => socket.destroy())
      return socket
    }
    const ask = (socket: Socket, path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    const until = async (holds: () => boolean) => {
      for (const end = Date.now() + 20_000; !holds() && Date.now() < end; ) await sleep(20)
      return holds()
    }

    await t.test('a reader that takes nothing is cut off, one that has all it asked for is not', async (t) => {
      const quiet = await open()
      ask(quiet, '/small')
      await new Promise((taken) => quiet.once('data', taken))
      const idle = [...sockets]
      for (let n = 0; n < 4; n++) {
        const stuck = await open()
        stuck.pause()
        ask(stuck, '/large')
      }
      t.ok(await until(() => sockets.size === idle.length + 4))
      t.ok(await until(() => sockets.size === idle.length), 'those that took nothing are gone')
      t.same([...sockets], idle)
      let answered = ''
      quiet.on('data', (bytes: Buffer) => (answered += bytes.toString()))
      ask(quiet, '/small')
      t.ok(await until(() => answered.endsWith('small')), 'the quiet one is answered still')
      quiet.destroy()
      await until(() => sockets.size === 0)
    })

    await t.test('a slow reader gets everything, however long it takes', async (t) => {
      const slow = await open()
      slow.pause()
      ask(slow, '/large')
      let got = 0
      let wanted = 0
      slow.on('data', (bytes: Buffer) => {
        got += bytes.length
        if (got >= wanted) slow.pause()
      })
      const began = Date.now()
      for (let step = 1; step <= ANSWER / (4 * MIB); step++) {
        wanted = step * 4 * MIB
        slow.resume()
        await until(() => got >= wanted || slow.destroyed)
        await sleep(500)
      }
      t.ok(got >= ANSWER, `${got} bytes`)
      t.ok(Date.now() - began > 2 * patience.every * patience.looks, 'twice as long as one may take nothing')
    })
  })
}
