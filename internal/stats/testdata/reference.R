# Makes reference-r.json from samples.json: Rscript reference.R > reference-r.json
# Debian: apt-get install r-base-core r-cran-coin r-cran-jsonlite
suppressPackageStartupMessages({
  library(coin)
  library(jsonlite)
})
samples <- fromJSON("samples.json", simplifyVector = TRUE, simplifyDataFrame = TRUE)
options(warn = -1)

constant <- function(x) length(unique(x)) == 1

summary_of <- function(x) {
  out <- list(n = length(x), mean = mean(x), sd = sd(x), median = median(x), min = min(x), max = max(x))
  out$interval <- if (constant(x)) c(x[1], x[1]) else as.numeric(t.test(x)$conf.int)
  out
}

welch_of <- function(base, other) {
  if (constant(base) && constant(other)) return(NULL)
  t <- t.test(other, base)
  list(t = t$statistic[[1]], df = t$parameter[[1]], p = t$p.value, interval = as.numeric(t$conf.int))
}

# Fieller's interval: where the p of t.test(other, r * base) crosses 0.05. R's uniroot, not our search.
percent_of <- function(base, other) {
  if (mean(base) == 0 || (constant(base) && constant(other))) return(NULL)
  if (!constant(base) && t.test(base)$p.value >= 0.05) return(NULL)
  ratio <- mean(other) / mean(base)
  f <- function(r) t.test(other, r * base)$p.value - 0.05
  se <- sqrt(var(other) / length(other) + ratio^2 * var(base) / length(base)) / abs(mean(base))
  if (ratio == 0 && se == 0) return(list(value = -100, interval = c(-100, -100)))
  limit <- function(sign) {
    far <- se
    while (f(ratio + sign * far) > 0) far <- 1.5 * far
    uniroot(f, sort(c(ratio + sign * far, ratio)), tol = 1e-14, maxiter = 10000)$root
  }
  ends <- sort((c(limit(-1), limit(1)) - 1) * 100 * sign(mean(base)))
  list(value = 100 * (ratio - 1) * sign(mean(base)), interval = ends)
}

# The one-sided exact p are coin's (the split-up algorithm of van de Wiel, ties included); two-sided is twice the smaller.
rank_of <- function(base, other) {
  out <- list(u = wilcox.test(other, base, exact = FALSE)$statistic[[1]])
  if (constant(c(base, other))) return(c(out, exact = 1))
  d <- data.frame(value = c(base, other), arm = factor(rep(c("base", "other"), c(length(base), length(other)))))
  p <- sapply(c("less", "greater"), function(a)
    as.numeric(pvalue(wilcox_test(value ~ arm, data = d, distribution = "exact", alternative = a))))
  out$exact <- min(1, 2 * min(p))
  out$normal <- wilcox.test(other, base, exact = FALSE, correct = TRUE)$p.value
  out
}

# The p that a difference is beyond 1 %, from R's one-sided t.test against both bounds.
minimum_of <- function(base, other) {
  if (constant(base) && constant(other)) return(NULL)
  side <- function(a) max(sapply(c(0.99, 1.01), function(k) t.test(other, k * base, alternative = a)$p.value))
  min(1, 2 * min(side("greater"), side("less")))
}

esd_of <- function(x, alpha = 0.01) {
  n <- length(x)
  taken <- c()
  found <- 0
  for (i in seq_len(n %/% 4)) {
    if (sd(x) == 0) break
    far <- which.max(abs(x - mean(x)))
    deviate <- abs(x[far] - mean(x)) / sd(x)
    taken <- c(taken, x[far])
    x <- x[-far]
    p <- 1 - alpha / (2 * (n - i + 1))
    t <- qt(p, n - i - 1)
    if (deviate > (n - i) * t / sqrt((n - i - 1 + t^2) * (n - i + 1))) found <- i
  }
  if (found == 0) list() else as.list(taken[1:found])
}

trend_of <- function(d) {
  d$group <- factor(paste(d$arm, d$boot))
  fit <- summary(if (nlevels(d$group) > 1) lm(value ~ at + group, d) else lm(value ~ at, d))$coefficients["at", ]
  list(change = fit[["Estimate"]] * (max(d$at) - min(d$at)), p = fit[["Pr(>|t|)"]])
}

pairs <- lapply(samples$pairs, function(s) list(
  base = summary_of(s$base), other = summary_of(s$other), welch = welch_of(s$base, s$other),
  percent = percent_of(s$base, s$other), rank = rank_of(s$base, s$other), minimum = minimum_of(s$base, s$other)))

cat(toJSON(list(
  made_by = paste(R.version.string, "coin", packageVersion("coin")),
  pairs = pairs,
  outliers = lapply(samples$outliers, esd_of),
  drift = lapply(samples$drift, trend_of),
  holm = lapply(samples$holm, function(p) as.list(p.adjust(p, "holm")))
), digits = NA, auto_unbox = TRUE, pretty = TRUE, null = "null"), "\n")
