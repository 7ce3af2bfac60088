import { existsSync } from 'node:fs'
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
    const path = asset && join(folder, asset[1]!)
    // The page before may still load its own files.
    if (path) return existsSync(path) ? route.fulfill({ path, contentType: types[asset[2]!]! }) : route.fallback()
    if (!request.isNavigationRequest()) return route.fallback()
    return route.fulfill({ response: await route.fetch(), body: page })
  })
}
