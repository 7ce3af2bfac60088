import type { Packed } from '../wire/gzip.ts'

/** A file of the web UI, as it was when the UI was built, and its media type. */
export type UiFile = Packed & { readonly type: string }

/** The built web UI. `page` holds `BASE` where the base path goes; `assets` are by their names. */
export type UiFiles = {
  readonly page: string
  readonly icon: Buffer
  readonly assets: ReadonlyMap<string, UiFile>
}

/** Stands in the page where its base path is written. */
export const BASE = '%BASE%'
