import { inReachOfEverybody } from './matrix.ts'
import { ofSettings } from './screens.ts'

await inReachOfEverybody(ofSettings)
