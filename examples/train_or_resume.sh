# SPDX-License-Identifier: Apache-2.0
# For scripts that are run again after an interruption: . train_or_resume.sh

# train_or_resume SURROGATE CONFIG FOLDER: begins the training of CONFIG, whose output is FOLDER, or
# resumes it. A finished training is unchanged except for the date in its models.
train_or_resume() {
    if [ -f "$3/checkpoint.safetensors" ]; then
        "$1" train "$2" --resume
    else
        "$1" train "$2"
    fi
}
