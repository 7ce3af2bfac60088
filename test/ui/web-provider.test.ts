import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import { build, type Rolldown } from 'vite'
import { maker } from '../http/flags.ts'
import { granted } from '../http/granted.ts'
import { eventually } from '../wait.ts'
import { openBrowser, skip } from './browser.ts'
import { leasePort, startService } from './service.ts'

/** Script of a page with the published provider, which adds each value of a flag to its text. */
const SCRIPT = `
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider'
import { OpenFeature, ProviderEvents } from '@openfeature/web-sdk'

const { baseUrl, token } = JSON.parse(decodeURIComponent(location.hash.slice(1)))
const client = OpenFeature.getClient()
const add = () => document.body.append(client.getBooleanValue('release', false) ? '1' : '0')
client.addHandler(ProviderEvents.ConfigurationChanged, add)
await OpenFeature.setContext({ targetingKey: 'alice' })
const headers = [['Authorization', 'Bearer ' + token]]
await OpenFeature.setProviderAndWait(new OFREPWebProvider({ baseUrl, headers }))
add()
`
const PAGE = '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/page.js"></script>'

/** Serves the page from an origin of its own. */
const shop = async (t: Test): Promise<string> => {
  const name = 'page-of-a-shop'
  const built = (await build({
    configFile: false,
    root: resolve(import.meta.dirname, '../../..'),
    logLevel: 'error',
    plugins: [{ name, resolveId: (id) => (id === name ? id : null), load: (id) => (id === name ? SCRIPT : null) }],
    build: { write: false, minify: false, target: 'esnext', rolldownOptions: { input: name } },
  })) as Rolldown.RolldownOutput
  const server = createServer(({ url }, response) => {
    const isScript = url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? built.output[0].code : PAGE)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

await t.test(
  'the published web provider shows each change, over a restart, until its token ends',
  { skip },
  async (t) => {
    const url = await shop(t)
    const port = await leasePort(t)
    const settings = { 'server.http_port': port, 'cors.enabled': 'true', 'cors.allowed_origins': url }
    const service = await startService(t, settings)
    const make = maker(service)
    await make.boolean('release')
    const { clientToken: token, id } = await granted(service, { namespaceKey: 'default', role: 'client' })
    t.match(token, /^rcp_/)
    // While the service is stopped, requests fail.
    const { page } = await openBrowser(t, { url }, { forced: [0, 401], calls: service.url })
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() === 401) refused.push(new URL(answer.url()).pathname)
    })
    const hash = encodeURIComponent(JSON.stringify({ baseUrl: service.url, token }))
    await page.goto(`${url}/#${hash}`)
    let due = '0'
    const shown = async () => (await page.locator('body').textContent()) ?? ''
    const isShown = () => eventually(async () => (await shown()) === due, `the values ${due}`)
    await isShown()
    const change = async () => {
      const enabled = due.endsWith('0')
      await make.updateFlag('release', { enabled })
      due += enabled ? '1' : '0'
    }
    for (let n = 0; n < 50; n++) {
      if (n === 25) await service.reopen()
      await change()
      await isShown()
    }
    t.equal(await shown(), due, 'each change was shown once')

    await service.request('DELETE', `/auth/v1/tokens/${id}`)
    await eventually(() => refused.includes('/ofrep/v1/events'), 'the refusal of the stream')
    const before = refused.length
    await make.updateFlag('release', { enabled: !due.endsWith('1') })
    await eventually(() => refused.includes('/ofrep/v1/evaluate/flags', before), 'the refusal of the flags')
    t.equal(await shown(), due, 'the page has no change after the end of its token')
  },
)
