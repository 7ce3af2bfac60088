import { usePart } from '../parts/loaded.ts'

const loadParts = () => import('../integrity/badge.tsx')

/** Badge or banner of the integrity (ui.md §11.11), loaded after the page. */
export const IntegrityPart = ({ part }: { readonly part: 'Badge' | 'Banner' }) => {
  const { part: parts } = usePart(loadParts, true)
  const Part = parts?.[part]
  return Part ? <Part /> : null
}
