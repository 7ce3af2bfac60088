import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { authorityFile } from '../authority.ts'
import { root } from '../root.ts'
import { clusterStandIn } from './stand-ins/cluster.ts'

const run = promisify(execFile)
/** Reports whether the certificate of a server is trusted with the authority of a file. */
const program = `
  const { connect } = await import('node:tls')
  const { trustIn } = await import('${join(root, 'dist/src/auth/outgoing/authority.js')}')
  const [file, address] = process.argv.slice(1)
  const url = new URL(address)
  const secureContext = await trustIn(file)(url)
  const socket = connect({ host: url.hostname, port: Number(url.port), secureContext, rejectUnauthorized: false }, () => {
    console.log(socket.authorized)
    socket.destroy()
  })`

await t.test('ca_path counts in addition to the certificates of NODE_EXTRA_CA_CERTS', async (t) => {
  const { url, caPath } = await clusterStandIn(t)
  const folder = await mkdtemp(join(tmpdir(), 'authorities-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const unreadable = join(folder, 'unreadable.pem')
  await writeFile(unreadable, '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n')
  const trusted = async (file: string, extra: string) => {
    const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env
    const args = ['--input-type=module', '--eval', program, file, url]
    return (await run(process.execPath, args, { env: { ...env, NODE_EXTRA_CA_CERTS: extra } })).stdout.trim()
  }
  t.equal(await trusted(authorityFile, ''), 'false', 'neither file has the authority')
  t.equal(await trusted(caPath, ''), 'true')
  t.equal(await trusted(authorityFile, caPath), 'true', 'the variable has it')
  for (const wrong of [join(folder, 'absent.pem'), unreadable])
    t.equal(await trusted(caPath, wrong), 'true', 'a wrong file of the variable is ignored')
})
