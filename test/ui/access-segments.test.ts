import { inReachOfEverybody } from './matrix.ts'
import { ofSegments } from './screens.ts'

await inReachOfEverybody(ofSegments)
