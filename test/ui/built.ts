import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'

const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }

/** Serves the UI files of a folder to a browser; the service answers everything else, with its own headers. */
export const showBuilt = async (context: BrowserContext, folder: string): Promise<void> => {
  const page = (await readFile(join(folder, 'index.html'), 'utf8')).replace('%BASE%', '/')
  await context.route('**/*', async (route) => {
    const request = route.request()
    const { pathname } = new URL(request.url())
    const asset = /\/(assets\/[\w.-]+\.(js|css))$/.exec(pathname)
    if (asset) return route.fulfill({ path: join(folder, asset[1]!), contentType: types[asset[2]!]! })
    if (!request.isNavigationRequest()) return route.fallback()
    return route.fulfill({ response: await route.fetch(), body: page })
  })
}
